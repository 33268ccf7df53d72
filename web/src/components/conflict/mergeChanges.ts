// A three-way merge of JSON values: changes made on two sides of the same base.

/**
 * Returns `theirs` with every change from `base` to `mine`. If both sides changed the same field, mine wins.
 * A list counts as one field.
 */
export function mergeChanges(base: unknown, mine: unknown, theirs: unknown): unknown {
  if (isEqual(mine, base)) return theirs;
  if (!isObject(base) || !isObject(mine) || !isObject(theirs)) return mine;
  const names = new Set([...Object.keys(theirs), ...Object.keys(mine), ...Object.keys(base)]);
  const fields = [...names].map((name) => [name, mergeChanges(base[name], mine[name], theirs[name])] as const);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

type JsonObject = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Equality of JSON values: the order of fields is ignored, and an undefined field counts as absent. */
export function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, at) => isEqual(item, other[at]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].every((name) => isEqual(one[name], other[name]));
}
