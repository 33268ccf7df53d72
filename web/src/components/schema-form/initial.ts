// What a form begins with: only what has no other choice. Defaults are shown, not sent: the server puts them in itself.
import type { JsonObject, JsonSchema, JsonValue } from './schema';
import { DEEPEST, draw } from './shape';

/** So many values at most, whatever the schema asks for: lists in lists would make millions. */
export const MOST_VALUES = 200;
const MOST_ITEMS = 20;

/** What is left of them for one form. */
interface Budget {
  left: number;
}

/** The value a required field begins with; undefined where it is for a person to say. */
export function initialOf(schema: JsonSchema, root: JsonSchema, depth = 0, budget: Budget = { left: MOST_VALUES }): JsonValue | undefined {
  if (budget.left <= 0) return undefined;
  budget.left -= 1;
  const { shape, isNullable } = draw(schema, root, '', depth);
  if (isNullable || depth > DEEPEST) return undefined;
  switch (shape.kind) {
    case 'const':
      return shape.value;
    case 'null':
      return null;
    case 'object': {
      const object: JsonObject = {};
      for (const field of shape.fields) {
        const value = field.isRequired ? initialOf(field.schema, root, depth + 1, budget) : undefined;
        if (value !== undefined) object[field.name] = value;
      }
      return object;
    }
    case 'list': {
      const items: JsonValue[] = [];
      const wanted = Math.min(shape.least, MOST_ITEMS);
      while (items.length < wanted && budget.left > 0) items.push(blankOf(shape.items, root, depth + 1, budget));
      return items;
    }
    case 'variants': {
      const [first] = shape.of.variants;
      if (first === undefined || first.type !== 'object') return undefined;
      return initialOf(first.schema, root, depth + 1, budget);
    }
    default:
      return undefined;
  }
}

/** What stands at a place that cannot be left out: of a list, of a map. */
export function blankOf(schema: JsonSchema, root: JsonSchema, depth = 0, budget: Budget = { left: MOST_VALUES }): JsonValue {
  const initial = initialOf(schema, root, depth, budget);
  if (initial !== undefined) return initial;
  const { shape } = draw(schema, root, '', depth);
  if (shape.kind === 'boolean') return false;
  if (shape.kind === 'text') return '';
  if (shape.kind === 'choice') return shape.options[0]?.value ?? null;
  if (shape.kind === 'variants' && shape.of.variants[0]?.type === 'string') return '';
  return null;
}

/** The arguments a form begins with. */
export function initialValue(schema: JsonSchema): JsonObject {
  const value = initialOf(schema, schema);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}
