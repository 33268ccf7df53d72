// Decides which kind of field a schema gets, and the settings of that field.
import { resolve } from './resolve';
import {
  asSchema, isRecord, isSame, type JsonSchema, type JsonValue, numberOf, propertiesOf, requiredOf, schemasOf, textOf, type TypeName, typesOf, without,
} from './schema';
import { type Variants, variantsOf } from './variants';

export interface ObjectField {
  name: string;
  schema: JsonSchema;
  isRequired: boolean;
}

export interface ChoiceOption {
  value: JsonValue;
  label: string;
  description?: string;
}

export type TextInput = 'text' | 'email' | 'url' | 'date' | 'time' | 'date-time';

export type Shape =
  | { kind: 'const'; value: JsonValue }
  | { kind: 'choice'; options: ChoiceOption[] }
  | { kind: 'text'; input: TextInput; isLong: boolean }
  | { kind: 'number'; isInteger: boolean; minimum?: number; maximum?: number; step?: number }
  | { kind: 'boolean' }
  | { kind: 'null' }
  /** `rest` is the schema of additional properties; null if none can be added. */
  | { kind: 'object'; fields: ObjectField[]; rest: JsonSchema | null }
  | { kind: 'list'; items: JsonSchema; minItems: number; maxItems: number }
  | { kind: 'variants'; of: Variants }
  | { kind: 'json' };

export interface ParsedField {
  shape: Shape;
  /** With `$ref` and `allOf` resolved. */
  schema: JsonSchema;
  /** Null is allowed in addition to the values of the shape. */
  isNullable: boolean;
}

/** Maximum depth of nested fields. Deeper values are edited as JSON. */
export const MAX_DEPTH = 6;

export function parseField(given: JsonSchema, root: JsonSchema, name = '', depth = 0): ParsedField {
  const { schema, isNullable } = withoutNull(resolve(given, root), root);
  const shape: Shape = depth > MAX_DEPTH ? { kind: 'json' } : shapeOf(schema, root, name);
  return { shape, schema, isNullable };
}

/** Removes null from `type: [x, "null"]`, from an `enum` with null, and from `anyOf: [x, {type: "null"}]`. */
function withoutNull(schema: JsonSchema, root: JsonSchema): { schema: JsonSchema; isNullable: boolean } {
  const types = typesOf(schema);
  if (types.length > 1 && types.includes('null')) {
    const inner = withoutNull({ ...schema, type: types.filter((type) => type !== 'null') }, root);
    return { schema: inner.schema, isNullable: true };
  }
  const options = schema['enum'];
  if (Array.isArray(options) && options.length > 1 && options.includes(null)) {
    return { schema: { ...schema, enum: options.filter((option) => option !== null) }, isNullable: true };
  }
  for (const keyword of ['anyOf', 'oneOf']) {
    const parts = schemasOf(schema, keyword).map((part) => resolve(part, root));
    const others = parts.filter((part) => !(part['type'] === 'null' || part['const'] === null));
    if (others.length === parts.length || others.length === 0) continue;
    const beside = without(schema, keyword);
    const [only] = others;
    // Keywords beside the alternatives (title, description) describe the field.
    if (others.length === 1) return { schema: { ...only, ...beside }, isNullable: true };
    return { schema: { ...beside, [keyword]: others }, isNullable: true };
  }
  return { schema, isNullable: false };
}

function shapeOf(schema: JsonSchema, root: JsonSchema, name: string): Shape {
  if ('const' in schema) return { kind: 'const', value: schema['const'] as JsonValue };
  const choice = choiceOf(schema, root);
  if (choice !== null) return { kind: 'choice', options: choice };
  const variants = variantsOf(schema, root);
  if (variants !== null) return { kind: 'variants', of: variants };
  const types = typesOf(schema);
  const [first] = types;
  if (types.length > 1) return severalTypes(schema, types, root, name);
  return first === undefined ? { kind: 'json' } : ofType(first, schema, name);
}

function ofType(type: TypeName, schema: JsonSchema, name: string): Shape {
  switch (type) {
    case 'string':
      return { kind: 'text', input: inputOf(schema), isLong: isLong(schema, name) };
    case 'integer':
    case 'number':
      return numberShape(schema, type === 'integer');
    case 'boolean':
      return { kind: 'boolean' };
    case 'null':
      return { kind: 'null' };
    case 'object':
      return objectShape(schema);
    case 'array':
      return listShape(schema);
  }
}

/** One variant for each type, or one JSON editor if no type has a specific field. */
function severalTypes(schema: JsonSchema, types: TypeName[], root: JsonSchema, name: string): Shape {
  const variants = types.map((type) => ({ schema: { ...schema, type }, title: undefined, type, description: undefined }));
  if (variants.every((variant) => ofType(variant.type, variant.schema, name).kind === 'json')) return { kind: 'json' };
  // An integer is also a number.
  const distinct = types.includes('number') ? variants.filter((variant) => variant.type !== 'integer') : variants;
  const [only] = distinct;
  if (distinct.length === 1 && only !== undefined) return shapeOf(only.schema, root, name);
  return { kind: 'variants', of: { discriminator: null, variants: distinct } };
}

function choiceOf(schema: JsonSchema, root: JsonSchema): ChoiceOption[] | null {
  const options = schema['enum'];
  if (Array.isArray(options) && options.length > 0) {
    return (options as JsonValue[]).map((value) => ({ value, label: labelOfValue(value) }));
  }
  const parts = [...schemasOf(schema, 'oneOf'), ...schemasOf(schema, 'anyOf')].map((part) => resolve(part, root));
  if (parts.length < 2 || !parts.every((part) => 'const' in part)) return null;
  return parts.map((part) => {
    const value = part['const'] as JsonValue;
    const description = textOf(part, 'description');
    return { value, label: textOf(part, 'title') ?? labelOfValue(value), ...(description === undefined ? {} : { description }) };
  });
}

export function labelOfValue(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const INPUTS: Record<string, TextInput> = {
  email: 'email', 'idn-email': 'email', uri: 'url', url: 'url', iri: 'url', date: 'date', time: 'time', 'date-time': 'date-time',
};

function inputOf(schema: JsonSchema): TextInput {
  return INPUTS[textOf(schema, 'format') ?? ''] ?? 'text';
}

const LONG_FORMATS = ['textarea', 'multiline', 'multi-line', 'markdown', 'html', 'text'];
const LONG_NAMES = /^(text|body|content|message|prompt|note|notes|description|comment|summary|markdown|html|code|sql)$/i;
const LONG = 1000;

function isLong(schema: JsonSchema, name: string): boolean {
  if (inputOf(schema) !== 'text') return false;
  if (LONG_FORMATS.includes(textOf(schema, 'format') ?? '') || 'contentMediaType' in schema) return true;
  const maxLength = numberOf(schema, 'maxLength');
  return (maxLength ?? 0) > LONG || (LONG_NAMES.test(name) && (maxLength === undefined || maxLength > 100));
}

function numberShape(schema: JsonSchema, isInteger: boolean): Shape {
  const above = numberOf(schema, 'exclusiveMinimum');
  const below = numberOf(schema, 'exclusiveMaximum');
  const step = numberOf(schema, 'multipleOf') ?? (isInteger ? 1 : undefined);
  // An exclusive bound of a fraction has no next value. The server reports a violation.
  const least = numberOf(schema, 'minimum') ?? (isInteger && above !== undefined ? above + 1 : above);
  // An input counts its steps from the minimum, which therefore must be a multiple of the step.
  const minimum = least !== undefined && step !== undefined && Number.isInteger(step) ? Math.ceil(least / step) * step : least;
  const maximum = numberOf(schema, 'maximum') ?? (isInteger && below !== undefined ? below - 1 : below);
  return {
    kind: 'number', isInteger,
    ...(minimum === undefined ? {} : { minimum }), ...(maximum === undefined ? {} : { maximum }), ...(step === undefined ? {} : { step }),
  };
}

function objectShape(schema: JsonSchema): Shape {
  const required = requiredOf(schema);
  const fields = propertiesOf(schema).map(([name, one]) => ({ name, schema: one, isRequired: required.includes(name) }));
  const rest = restOf(schema);
  // An object without known properties is edited as JSON.
  if (fields.length === 0 && rest === null && schema['additionalProperties'] !== false) return { kind: 'json' };
  return { kind: 'object', fields, rest };
}

function restOf(schema: JsonSchema): JsonSchema | null {
  const more = schema['additionalProperties'];
  if (isRecord(more) && Object.keys(more).length > 0) return more;
  const patterns = schema['patternProperties'];
  const all = isRecord(patterns) ? Object.values(patterns) : [];
  return all.length === 1 && isRecord(all[0]) ? all[0] : null;
}

function listShape(schema: JsonSchema): Shape {
  const items = schema['items'];
  // A list without an item schema, or with one for each position, is edited as JSON.
  if (!isRecord(items) || isSame(items, {}) || 'prefixItems' in schema) return { kind: 'json' };
  return { kind: 'list', items: asSchema(items), minItems: numberOf(schema, 'minItems') ?? 0, maxItems: numberOf(schema, 'maxItems') ?? Infinity };
}
