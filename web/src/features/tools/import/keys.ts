// Immutable updates of sets of keys.

/** Returns the set with these keys added or removed. */
export function withKeys(before: ReadonlySet<string>, keys: readonly string[], isIn: boolean): ReadonlySet<string> {
  const after = new Set(before);
  for (const key of keys) {
    if (isIn) after.add(key);
    else after.delete(key);
  }
  return after;
}
