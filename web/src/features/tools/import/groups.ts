// Groups of operations: the document's tags if it is JSON, else the first segment of the path.
type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The tags of each `METHOD /path` of an OpenAPI document in JSON; empty for other texts. */
export function tagsIn(text: string): Map<string, string[]> {
  const tags = new Map<string, string[]>();
  if (!text.trimStart().startsWith('{')) return tags;
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return tags;
  }
  if (!isObject(document) || !isObject(document['paths'])) return tags;
  for (const [path, operations] of Object.entries(document['paths'])) {
    if (!isObject(operations)) continue;
    for (const [method, operation] of Object.entries(operations)) {
      const named = isObject(operation) ? operation['tags'] : undefined;
      if (Array.isArray(named)) tags.set(`${method.toUpperCase()} ${path}`, named.filter((tag) => typeof tag === 'string'));
    }
  }
  return tags;
}

/** Returns the first segment of a path: `/pets` for `/pets/{id}`. */
export function firstSegment(path: string): string {
  return `/${path.split('/').find((part) => part !== '') ?? ''}`;
}
