// Reads all pages of a list endpoint.
const PAGE = 200;

interface PageOf<T> {
  items: readonly T[];
  nextCursor: string | null;
}

/** Requests pages until there is no next cursor. */
export async function fetchAllPages<T>(read: (query: { limit: number; cursor?: string }) => Promise<PageOf<T>>): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | null = null;
  do {
    const page: PageOf<T> = await read(cursor === null ? { limit: PAGE } : { limit: PAGE, cursor });
    all.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return all;
}
