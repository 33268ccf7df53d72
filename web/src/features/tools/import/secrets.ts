// Which secrets of the space have a value.
import { queryOptions } from '@tanstack/react-query';

import { api, ask } from '@/api/client';

const PAGE = 200;

export const secretNamesQuery = queryOptions({
  queryKey: ['secrets', 'names of the space'],
  queryFn: async (): Promise<ReadonlySet<string>> => {
    const names = new Set<string>();
    let cursor: string | null = null;
    do {
      const query: { limit: number; cursor?: string } = cursor === null ? { limit: PAGE } : { limit: PAGE, cursor };
      const page = await ask(api.GET('/api/secrets', { params: { query } }));
      for (const { name, owner } of page.items) if (owner === 'space') names.add(name);
      cursor = page.nextCursor;
    } while (cursor !== null);
    return names;
  },
});
