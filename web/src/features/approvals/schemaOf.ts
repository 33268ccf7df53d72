// A form for arguments of which no schema is known: as they are, so they may be filled in.
import { isJsonObject, type JsonSchema, type JsonValue, typeOfValue } from '@/components/schema-form/schema';

export function schemaOf(value: JsonValue): JsonSchema {
  if (isJsonObject(value)) {
    const properties = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, schemaOf(one)]));
    return { type: 'object', properties, additionalProperties: false };
  }
  if (Array.isArray(value)) return { type: 'array', ...itemsOf(value) };
  if (value === null) return {};
  // A whole number may have been meant as one of any kind.
  const type = typeOfValue(value);
  return { type: type === 'integer' ? 'number' : type };
}

/** Where all are of one kind, they are drawn as that. */
function itemsOf(values: readonly JsonValue[]): JsonSchema {
  const [first, ...rest] = values.map(schemaOf);
  const isOne = first !== undefined && rest.every((other) => JSON.stringify(other) === JSON.stringify(first));
  return isOne ? { items: first } : {};
}
