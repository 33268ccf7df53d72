// Derives a schema from arguments whose tool has none, so that they can be edited in a form.
import { isJsonObject, type JsonSchema, type JsonValue, typeOfValue } from '@/components/schema-form/schema';

export function schemaOf(value: JsonValue): JsonSchema {
  if (isJsonObject(value)) {
    const properties = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, schemaOf(one)]));
    return { type: 'object', properties, additionalProperties: false };
  }
  if (Array.isArray(value)) return { type: 'array', ...itemsOf(value) };
  if (value === null) return {};
  // An integer may be a value of a number field.
  const type = typeOfValue(value);
  return { type: type === 'integer' ? 'number' : type };
}

/** The schema of the items, if all have the same type. */
function itemsOf(values: readonly JsonValue[]): JsonSchema {
  const [first, ...rest] = values.map(schemaOf);
  const isOne = first !== undefined && rest.every((other) => JSON.stringify(other) === JSON.stringify(first));
  return isOne ? { items: first } : {};
}
