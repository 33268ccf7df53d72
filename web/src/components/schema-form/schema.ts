// Types of JSON values and JSON Schemas, and functions that read schema keywords with type checks.
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [name: string]: JsonValue;
}

/** An unvalidated JSON Schema. Each keyword is checked when it is read. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export type TypeName = 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | 'null';

const TYPE_NAMES: readonly string[] = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return isRecord(value);
}

/** Converts a boolean or malformed schema to `{}`, which accepts any value. */
export function asSchema(value: unknown): JsonSchema {
  return isRecord(value) ? value : {};
}

export function textOf(schema: JsonSchema, keyword: string): string | undefined {
  const value = schema[keyword];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function numberOf(schema: JsonSchema, keyword: string): number | undefined {
  const value = schema[keyword];
  return typeof value === 'number' ? value : undefined;
}

export function schemasOf(schema: JsonSchema, keyword: string): JsonSchema[] {
  const value = schema[keyword];
  return Array.isArray(value) ? value.map(asSchema) : [];
}

export function propertiesOf(schema: JsonSchema): [name: string, schema: JsonSchema][] {
  const properties = schema['properties'];
  return isRecord(properties) ? Object.entries(properties).map(([name, one]) => [name, asSchema(one)]) : [];
}

export function requiredOf(schema: JsonSchema): string[] {
  const required = schema['required'];
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}

/** Returns the types that `type` lists, or else the type that other keywords imply. */
export function typesOf(schema: JsonSchema): TypeName[] {
  const declared = schema['type'];
  const names = (Array.isArray(declared) ? declared : [declared]).filter(isTypeName);
  if (names.length > 0) return names;
  if ('properties' in schema || 'additionalProperties' in schema || 'patternProperties' in schema) return ['object'];
  if ('items' in schema || 'prefixItems' in schema) return ['array'];
  if ('pattern' in schema || 'minLength' in schema || 'maxLength' in schema || 'format' in schema) return ['string'];
  if ('minimum' in schema || 'maximum' in schema || 'multipleOf' in schema) return ['number'];
  return [];
}

function isTypeName(value: unknown): value is TypeName {
  return typeof value === 'string' && TYPE_NAMES.includes(value);
}

/** Returns the JSON Schema type of a value. */
export function typeOfValue(value: JsonValue): TypeName {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  if (typeof value === 'object') return 'object';
  return typeof value === 'string' ? 'string' : 'boolean';
}

/** Returns a copy of the object without the named properties. */
export function without<T>(object: Readonly<Record<string, T>>, ...names: readonly string[]): Record<string, T> {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

export function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
