// Which agents have a tool: whoever deletes it is told before, not after.
import { queryOptions } from '@tanstack/react-query';

import { api, ask, type Schemas } from '@/api/client';

const PAGE = 200;
/** Of more agents than anybody reads the names the server tells, when it comes to that. */
const MOST_PAGES = 10;

export const usedByQuery = (tool: string) =>
  queryOptions({ queryKey: ['agents', 'using', tool], queryFn: ({ signal }) => agentsUsing(tool, signal), staleTime: 0 });

async function agentsUsing(tool: string, signal: AbortSignal): Promise<string[]> {
  const names: string[] = [];
  let cursor: string | undefined;
  for (let turn = 0; turn < MOST_PAGES; turn += 1) {
    const page: Schemas['AgentPage'] = await ask(api.GET('/api/agents', { params: { query: { limit: PAGE, cursor } }, signal }));
    names.push(...page.items.filter(({ toolIds }) => toolIds.includes(tool)).map(({ name }) => name));
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  return names;
}
