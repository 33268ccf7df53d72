// The initial value of a form: required fields that allow only one value.
// Defaults are shown as placeholders and not sent, because the server applies them.
import type { JsonObject, JsonSchema, JsonValue } from './schema';
import { MAX_DEPTH, parseField } from './shape';

/** Maximum number of values created for one form. Nested lists could otherwise create millions. */
export const MAX_VALUES = 200;
const MAX_ITEMS = 20;

/** The number of values that may still be created for a form. */
interface Budget {
  left: number;
}

/** Returns the initial value of a required field, or `undefined` if the user has to choose it. */
export function initialOf(schema: JsonSchema, root: JsonSchema, depth = 0, budget: Budget = { left: MAX_VALUES }): JsonValue | undefined {
  if (budget.left <= 0) return undefined;
  budget.left -= 1;
  const { shape, isNullable } = parseField(schema, root, '', depth);
  if (isNullable || depth > MAX_DEPTH) return undefined;
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
      const count = Math.min(shape.minItems, MAX_ITEMS);
      while (items.length < count && budget.left > 0) items.push(blankOf(shape.items, root, depth + 1, budget));
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

/** Returns the value of a new list item or map entry, which cannot be `undefined`. */
export function blankOf(schema: JsonSchema, root: JsonSchema, depth = 0, budget: Budget = { left: MAX_VALUES }): JsonValue {
  const initial = initialOf(schema, root, depth, budget);
  if (initial !== undefined) return initial;
  const { shape } = parseField(schema, root, '', depth);
  if (shape.kind === 'boolean') return false;
  if (shape.kind === 'text') return '';
  if (shape.kind === 'choice') return shape.options[0]?.value ?? null;
  if (shape.kind === 'variants' && shape.of.variants[0]?.type === 'string') return '';
  return null;
}

/** Returns the initial value of a whole form. */
export function initialValue(schema: JsonSchema): JsonObject {
  const value = initialOf(schema, schema);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}
