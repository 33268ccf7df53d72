// Which operations belong together: by the document's tags where they can be read, else by how their paths begin.
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

/** `/pets/{id}` is among `/pets`. */
export function beginningOf(path: string): string {
  return `/${path.split('/').find((part) => part !== '') ?? ''}`;
}
