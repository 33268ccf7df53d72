// What a form begins with: only what has no other choice. Defaults are shown, not sent: the server puts them in itself.
import type { JsonObject, JsonSchema, JsonValue } from './schema';
import { DEEPEST, draw } from './shape';

/** The value a required field begins with; undefined where it is for a person to say. */
export function initialOf(schema: JsonSchema, root: JsonSchema, depth = 0): JsonValue | undefined {
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
        const value = field.isRequired ? initialOf(field.schema, root, depth + 1) : undefined;
        if (value !== undefined) object[field.name] = value;
      }
      return object;
    }
    case 'list':
      return Array.from({ length: Math.min(shape.least, 20) }, () => blankOf(shape.items, root, depth + 1));
    case 'variants': {
      const [first] = shape.of.variants;
      if (first === undefined || first.type !== 'object') return undefined;
      return initialOf(first.schema, root, depth + 1);
    }
    default:
      return undefined;
  }
}

/** What stands at a place that cannot be left out: of a list, of a map. */
export function blankOf(schema: JsonSchema, root: JsonSchema, depth = 0): JsonValue {
  const initial = initialOf(schema, root, depth);
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
