// Replaces `$ref` and `allOf` in a schema by the schemas they refer to.
import { asSchema, isRecord, type JsonSchema, requiredOf, schemasOf, without } from './schema';

/** Maximum depth of references to references. It also ends reference cycles. */
const MAX_REFERENCE_DEPTH = 16;

/** Resolves one level of a schema. Nested schemas are resolved when their fields are rendered. */
export function resolve(schema: JsonSchema, root: JsonSchema, steps = 0): JsonSchema {
  if (steps > MAX_REFERENCE_DEPTH) return {};
  let found = schema;
  const reference = found['$ref'];
  if (typeof reference === 'string') {
    found = merge(resolve(target(reference, root), root, steps + 1), without(found, '$ref'));
  }
  const parts = schemasOf(found, 'allOf');
  if (parts.length > 0) {
    found = parts.reduce<JsonSchema>((whole, part) => merge(whole, resolve(part, root, steps + 1)), without(found, 'allOf'));
  }
  return found;
}

/** Finds the schema of a reference: `#`, `#/$defs/address`, or an `$id` or `$anchor` under `$defs`. */
function target(reference: string, root: JsonSchema): JsonSchema {
  if (reference === '#') return root;
  if (reference.startsWith('#/')) {
    let at: unknown = root;
    for (const step of reference.slice(2).split('/')) {
      const name = unescape(step);
      at = isRecord(at) ? at[name] : Array.isArray(at) ? (at as unknown[])[Number(name)] : undefined;
    }
    return asSchema(at);
  }
  const definitions = root['$defs'] ?? root['definitions'];
  const all = isRecord(definitions) ? Object.values(definitions).map(asSchema) : [];
  return all.find((one) => one['$id'] === reference || `#${String(one['$anchor'])}` === reference) ?? {};
}

function unescape(step: string): string {
  let name = step;
  try {
    name = decodeURIComponent(step);
  } catch {
    // A percent sign that is not an escape is kept.
  }
  return name.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Combines two schemas: properties and `required` of both, the narrower bounds, other keywords from `other`. */
export function merge(one: JsonSchema, other: JsonSchema): JsonSchema {
  const whole: Record<string, unknown> = { ...one, ...other };
  const properties = [one['properties'], other['properties']].filter(isRecord);
  if (properties.length === 2) whole['properties'] = mergeProperties(properties[0] ?? {}, properties[1] ?? {});
  const required = [...new Set([...requiredOf(one), ...requiredOf(other)])];
  if (required.length > 0) whole['required'] = required;
  narrow(whole, one, other, ['minimum', 'exclusiveMinimum', 'minLength', 'minItems'], Math.max);
  narrow(whole, one, other, ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems'], Math.min);
  const parts = [...schemasOf(one, 'allOf'), ...schemasOf(other, 'allOf')];
  if (parts.length > 0) whole['allOf'] = parts;
  return whole;
}

function mergeProperties(one: Record<string, unknown>, other: Record<string, unknown>): Record<string, unknown> {
  const all: Record<string, unknown> = { ...one };
  for (const [name, schema] of Object.entries(other)) {
    all[name] = name in one ? merge(asSchema(one[name]), asSchema(schema)) : schema;
  }
  return all;
}

function narrow(
  whole: Record<string, unknown>, one: JsonSchema, other: JsonSchema, keywords: string[], pick: (a: number, b: number) => number,
): void {
  for (const keyword of keywords) {
    const [a, b] = [one[keyword], other[keyword]];
    if (typeof a === 'number' && typeof b === 'number') whole[keyword] = pick(a, b);
  }
}
