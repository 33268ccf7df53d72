// The variants of a `oneOf` or `anyOf` schema: finding them, matching a value, and switching a value to another one.
import { merge, resolve } from './resolve';
import {
  isJsonObject, isSame, type JsonObject, type JsonSchema, type JsonValue, propertiesOf, requiredOf, schemasOf, textOf, type TypeName,
  typeOfValue, typesOf, without,
} from './schema';

export interface Variant {
  schema: JsonSchema;
  title: string | undefined;
  description: string | undefined;
  /** Labels a variant without a title. */
  type: TypeName | undefined;
  /** The value of the discriminator in this variant. */
  constant?: JsonValue;
}

export interface Variants {
  /** The property whose value selects the variant; null if there is none. */
  discriminator: string | null;
  variants: Variant[];
}

/** Returns the variants of `oneOf` or `anyOf`, each merged with the common keywords; null if the schema has none. */
export function variantsOf(schema: JsonSchema, root: JsonSchema): Variants | null {
  const keyword = schemasOf(schema, 'oneOf').length > 0 ? 'oneOf' : 'anyOf';
  const parts = schemasOf(schema, keyword).map((part) => resolve(part, root));
  // Parts with only `required` or `not` are constraints and not variants.
  if (parts.length === 0 || parts.every((part) => Object.keys(part).every((key) => key === 'required' || key === 'not'))) return null;
  const base = without(schema, keyword, 'title', 'description');
  const variants = parts.map((part): Variant => {
    const whole = merge(base, part);
    return { schema: whole, title: textOf(part, 'title'), description: textOf(part, 'description'), type: typesOf(whole)[0] };
  });
  const discriminator = discriminatorOf(schema, variants, root);
  if (discriminator === null) return { discriminator, variants };
  return { discriminator, variants: variants.map((variant) => ({ ...variant, constant: constantOf(variant.schema, discriminator, root) ?? null })) };
}

function discriminatorOf(schema: JsonSchema, variants: readonly Variant[], root: JsonSchema): string | null {
  const declared = schema['discriminator'];
  const named = typeof declared === 'object' && declared !== null && 'propertyName' in declared ? declared.propertyName : undefined;
  const [first] = variants;
  if (first === undefined) return null;
  const names = propertiesOf(first.schema).map(([name]) => name);
  const candidates = typeof named === 'string' ? [named, ...names] : names;
  return candidates.find((name) => {
    const constants = variants.map((variant) => constantOf(variant.schema, name, root));
    return constants.every((constant) => constant !== undefined) && new Set(constants.map((constant) => JSON.stringify(constant))).size === constants.length;
  }) ?? null;
}

/** Returns the only value that a property allows, or `undefined` if it allows several. */
function constantOf(schema: JsonSchema, name: string, root: JsonSchema): JsonValue | undefined {
  const field = propertiesOf(schema).find(([one]) => one === name)?.[1];
  if (field === undefined) return undefined;
  const resolved = resolve(field, root);
  if ('const' in resolved) return resolved['const'] as JsonValue;
  const options = resolved['enum'];
  return Array.isArray(options) && options.length === 1 ? (options as JsonValue[])[0] : undefined;
}

/** Returns the index of the variant that matches a value best; null if the discriminator matches no variant. */
export function variantOf({ discriminator, variants }: Variants, value: JsonValue | undefined): number | null {
  if (discriminator !== null) {
    const constant = isJsonObject(value) ? value[discriminator] : undefined;
    const found = variants.findIndex((variant) => constant !== undefined && isSame(variant.constant, constant));
    return found === -1 ? null : found;
  }
  if (value === undefined) return 0;
  const scores = variants.map((variant) => matchScore(variant.schema, value));
  const best = scores.indexOf(Math.max(...scores));
  return best === -1 ? 0 : best;
}

/** Returns true if a value does not contradict a variant. */
export function fitsVariant(variant: Variant, value: JsonValue | undefined): boolean {
  return value === undefined || matchScore(variant.schema, value) >= 0;
}

/** Scores how well a value matches a schema. A negative score means no match. */
function matchScore(schema: JsonSchema, value: JsonValue): number {
  const types = typesOf(schema);
  const type = typeOfValue(value);
  if (types.length > 0 && !types.includes(type) && !(type === 'integer' && types.includes('number'))) return -1;
  if ('const' in schema) return isSame(schema['const'], value) ? 10 : -1;
  const options = schema['enum'];
  if (Array.isArray(options)) return options.some((option) => isSame(option, value)) ? 10 : -1;
  if (!isJsonObject(value)) return 1;
  const known = propertiesOf(schema).map(([name]) => name);
  const present = Object.keys(value);
  const met = requiredOf(schema).filter((name) => present.includes(name)).length;
  const missing = requiredOf(schema).length - met;
  const extra = present.filter((name) => !known.includes(name)).length;
  return Math.max(0, 10 + 2 * met + present.length - extra * 2 - missing);
}

/** Converts a value to another variant. Properties that only other variants have are removed. */
export function switchVariant(of: Variants, value: JsonValue | undefined, to: number, initial: JsonValue | undefined): JsonValue | undefined {
  const variant = of.variants[to];
  if (variant === undefined) return value;
  const goal = variant.type === 'object' ? (isJsonObject(initial) ? initial : {}) : undefined;
  if (goal === undefined || !isJsonObject(value)) return initial;
  const known = new Set(of.variants.flatMap((one) => propertiesOf(one.schema).map(([name]) => name)));
  const own = new Set(propertiesOf(variant.schema).map(([name]) => name));
  const remaining: JsonObject = {};
  for (const [name, one] of Object.entries(value)) {
    if (own.has(name) || !known.has(name)) remaining[name] = one;
  }
  const result: JsonObject = { ...goal, ...remaining };
  if (of.discriminator !== null && variant.constant !== undefined) result[of.discriminator] = variant.constant;
  return result;
}
