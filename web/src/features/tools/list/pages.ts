// Tools a page at a time: by name where something is looked for, else category after category.
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';

import { api, ask, type Schemas } from '@/api/client';

type Tool = Schemas['Tool'];
export type Category = Schemas['CategoryList']['items'][number];

const PAGE = 60;

export interface Wanted {
  q: string | undefined;
  category: string | undefined;
}

/** Where a page begins: in which of the categories, and where in it. */
interface From {
  at: number;
  cursor: string | undefined;
}

const START: From = { at: 0, cursor: undefined };

export interface ToolsPageOf {
  tools: Tool[];
  next: From | undefined;
}

export const categoriesQuery = queryOptions({
  queryKey: ['tools', 'categories'],
  queryFn: async () => (await ask(api.GET('/api/tools/categories'))).items,
});

export function toolsQuery(wanted: Wanted, categories: readonly Category[]) {
  const isByCategory = wanted.q === undefined && wanted.category === undefined;
  const plan = isByCategory ? categories.map(({ category, count }) => ({ category, count })) : [{ category: wanted.category, count: PAGE }];
  return infiniteQueryOptions({
    queryKey: ['tools', 'list', wanted, plan.map(({ category }) => category)],
    queryFn: ({ pageParam, signal }) => fetchPage(wanted.q, plan, pageParam, signal),
    initialPageParam: START,
    getNextPageParam: (page: ToolsPageOf) => page.next,
  });
}

interface Step {
  category: string | undefined;
  count: number;
}

/** Small categories are asked for together, so that many of them are not many turns. */
async function fetchPage(q: string | undefined, plan: readonly Step[], from: From, signal: AbortSignal): Promise<ToolsPageOf> {
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
  // A category that did not come whole is gone on with; those behind it wait until it has.
  const unfinished = pages.findIndex((page) => page.nextCursor !== null);
  const whole = unfinished < 0 ? pages : pages.slice(0, unfinished + 1);
  const tools = whole.flatMap((page) => page.items);
  const cursor = pages[unfinished]?.nextCursor ?? undefined;
  if (cursor !== undefined) return { tools, next: { at: from.at + unfinished, cursor } };
  return { tools, next: end < plan.length ? { at: end, cursor: undefined } : undefined };
}
