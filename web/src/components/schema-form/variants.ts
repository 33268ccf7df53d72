// One of several: which variants a schema has, which one a value is, and how a value becomes another.
import { merge, resolve } from './resolve';
import {
  isJsonObject, isSame, type JsonObject, type JsonSchema, type JsonValue, propertiesOf, requiredOf, schemasOf, textOf, type TypeName,
  typeOfValue, typesOf, without,
} from './schema';

export interface Variant {
  schema: JsonSchema;
  title: string | undefined;
  description: string | undefined;
  /** What it is when it has no name. */
  type: TypeName | undefined;
  /** What its discriminator holds. */
  mark?: JsonValue;
}

export interface Variants {
  /** The field that says which variant it is. */
  discriminator: string | null;
  variants: Variant[];
}

/** The variants of `oneOf` or `anyOf`, each with what the schema says of all of them; null where there are none to choose from. */
export function variantsOf(schema: JsonSchema, root: JsonSchema): Variants | null {
  const keyword = schemasOf(schema, 'oneOf').length > 0 ? 'oneOf' : 'anyOf';
  const parts = schemasOf(schema, keyword).map((part) => resolve(part, root));
  // "At least one of these fields" is a rule, not a choice.
  if (parts.length === 0 || parts.every((part) => Object.keys(part).every((key) => key === 'required' || key === 'not'))) return null;
  const base = without(schema, keyword, 'title', 'description');
  const variants = parts.map((part): Variant => {
    const whole = merge(base, part);
    return { schema: whole, title: textOf(part, 'title'), description: textOf(part, 'description'), type: typesOf(whole)[0] };
  });
  const discriminator = discriminatorOf(schema, variants, root);
  if (discriminator === null) return { discriminator, variants };
  return { discriminator, variants: variants.map((variant) => ({ ...variant, mark: markOf(variant.schema, discriminator, root) ?? null })) };
}

function discriminatorOf(schema: JsonSchema, variants: readonly Variant[], root: JsonSchema): string | null {
  const said = schema['discriminator'];
  const named = typeof said === 'object' && said !== null && 'propertyName' in said ? said.propertyName : undefined;
  const [first] = variants;
  if (first === undefined) return null;
  const names = propertiesOf(first.schema).map(([name]) => name);
  const candidates = typeof named === 'string' ? [named, ...names] : names;
  return candidates.find((name) => {
    const marks = variants.map((variant) => markOf(variant.schema, name, root));
    return marks.every((mark) => mark !== undefined) && new Set(marks.map((mark) => JSON.stringify(mark))).size === marks.length;
  }) ?? null;
}

/** The only value that a field may have. */
function markOf(schema: JsonSchema, name: string, root: JsonSchema): JsonValue | undefined {
  const field = propertiesOf(schema).find(([one]) => one === name)?.[1];
  if (field === undefined) return undefined;
  const resolved = resolve(field, root);
  if ('const' in resolved) return resolved['const'] as JsonValue;
  const options = resolved['enum'];
  return Array.isArray(options) && options.length === 1 ? (options as JsonValue[])[0] : undefined;
}

/** Which variant a value is, as far as that can be told; null where a discriminator is missing or says something else. */
export function variantOf({ discriminator, variants }: Variants, value: JsonValue | undefined): number | null {
  if (discriminator !== null) {
    const mark = isJsonObject(value) ? value[discriminator] : undefined;
    const found = variants.findIndex((variant) => mark !== undefined && isSame(variant.mark, mark));
    return found === -1 ? null : found;
  }
  if (value === undefined) return 0;
  const scores = variants.map((variant) => fit(variant.schema, value));
  const best = scores.indexOf(Math.max(...scores));
  return best === -1 ? 0 : best;
}

/** Whether a value could be of a variant at all. */
export function mayBe(variant: Variant, value: JsonValue | undefined): boolean {
  return value === undefined || fit(variant.schema, value) >= 0;
}

/** How well a value goes with a schema; below zero: not at all. */
function fit(schema: JsonSchema, value: JsonValue): number {
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
  const missed = requiredOf(schema).length - met;
  const strange = present.filter((name) => !known.includes(name)).length;
  return Math.max(0, 10 + 2 * met + present.length - strange * 2 - missed);
}

/** The value as another variant: fields of both stay, those of the old alone go, and those that no variant knows stay. */
export function switchVariant(of: Variants, value: JsonValue | undefined, to: number, initial: JsonValue | undefined): JsonValue | undefined {
  const variant = of.variants[to];
  if (variant === undefined) return value;
  const goal = variant.type === 'object' ? (isJsonObject(initial) ? initial : {}) : undefined;
  if (goal === undefined || !isJsonObject(value)) return initial;
  const known = new Set(of.variants.flatMap((one) => propertiesOf(one.schema).map(([name]) => name)));
  const own = new Set(propertiesOf(variant.schema).map(([name]) => name));
  const kept: JsonObject = {};
  for (const [name, one] of Object.entries(value)) {
    if (own.has(name) || !known.has(name)) kept[name] = one;
  }
  const result: JsonObject = { ...goal, ...kept };
  if (of.discriminator !== null && variant.mark !== undefined) result[of.discriminator] = variant.mark;
  return result;
}
