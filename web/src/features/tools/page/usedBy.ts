// The names of the agents that use a tool, shown before it is deleted.
import { queryOptions } from '@tanstack/react-query';

import { api, ask, type Schemas } from '@/api/client';

const PAGE = 200;
/** Maximum number of pages to read. With more agents, the server reports the names when it refuses the deletion. */
const MAX_PAGES = 10;

export const usedByQuery = (tool: string) =>
  queryOptions({ queryKey: ['agents', 'using', tool], queryFn: ({ signal }) => agentsUsing(tool, signal), staleTime: 0 });

async function agentsUsing(tool: string, signal: AbortSignal): Promise<string[]> {
  const names: string[] = [];
  let cursor: string | undefined;
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const page: Schemas['AgentPage'] = await ask(api.GET('/api/agents', { params: { query: { limit: PAGE, cursor } }, signal }));
    names.push(...page.items.filter(({ toolIds }) => toolIds.includes(tool)).map(({ name }) => name));
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  return names;
}
