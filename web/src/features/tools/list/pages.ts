// Paged queries of tools: search results by name, else all tools category by category.
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';

import { api, ask, type Schemas } from '@/api/client';

type Tool = Schemas['Tool'];
export type Category = Schemas['CategoryList']['items'][number];

const PAGE = 60;

export interface ToolListFilter {
  q: string | undefined;
  category: string | undefined;
}

/** The start of a page: the index of the category, and the cursor within it. */
interface PageStart {
  at: number;
  cursor: string | undefined;
}

const START: PageStart = { at: 0, cursor: undefined };

export interface ToolListPage {
  tools: Tool[];
  next: PageStart | undefined;
}

export const categoriesQuery = queryOptions({
  queryKey: ['tools', 'categories'],
  queryFn: async () => (await ask(api.GET('/api/tools/categories'))).items,
});

export function toolsQuery(filter: ToolListFilter, categories: readonly Category[]) {
  const isByCategory = filter.q === undefined && filter.category === undefined;
  const plan = isByCategory ? categories.map(({ category, count }) => ({ category, count })) : [{ category: filter.category, count: PAGE }];
  return infiniteQueryOptions({
    queryKey: ['tools', 'list', filter, plan.map(({ category }) => category)],
    queryFn: ({ pageParam, signal }) => fetchPage(filter.q, plan, pageParam, signal),
    initialPageParam: START,
    getNextPageParam: (page: ToolListPage) => page.next,
  });
}

interface CategoryStep {
  category: string | undefined;
  count: number;
}

/** Fetches small categories in parallel, to avoid many sequential requests. */
async function fetchPage(q: string | undefined, plan: readonly CategoryStep[], from: PageStart, signal: AbortSignal): Promise<ToolListPage> {
  let end = from.at + 1;
  let expected = plan[from.at]?.count ?? 0;
  while (end < plan.length && expected < PAGE) {
    expected += plan[end]?.count ?? 0;
    end += 1;
  }
  const pages = await Promise.all(plan.slice(from.at, end).map(({ category }, index) => {
    const query = { q, category, limit: PAGE, cursor: index === 0 ? from.cursor : undefined };
    return ask(api.GET('/api/tools', { params: { query }, signal }));
  }));
  // An incomplete category continues on the next page; later categories wait until it is complete.
  const unfinished = pages.findIndex((page) => page.nextCursor !== null);
  const whole = unfinished < 0 ? pages : pages.slice(0, unfinished + 1);
  const tools = whole.flatMap((page) => page.items);
  const cursor = pages[unfinished]?.nextCursor ?? undefined;
  if (cursor !== undefined) return { tools, next: { at: from.at + unfinished, cursor } };
  return { tools, next: end < plan.length ? { at: end, cursor: undefined } : undefined };
}
