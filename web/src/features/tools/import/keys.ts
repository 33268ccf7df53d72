// Sets of keys, as state keeps them: never changed, only replaced.

/** The set with these keys in it, or without them. */
export function withKeys(before: ReadonlySet<string>, keys: readonly string[], isIn: boolean): ReadonlySet<string> {
  const after = new Set(before);
  for (const key of keys) {
    if (isIn) after.add(key);
    else after.delete(key);
  }
  return after;
}
