// How a tool did in the last day, asked for once by everything on its page.
import { queryOptions } from '@tanstack/react-query';

import { api, ask } from '@/api/client';

export const toolStatsQuery = (id: string) =>
  queryOptions({
    queryKey: ['stats', 'tool', id],
    queryFn: () => ask(api.GET('/api/stats', { params: { query: { tool: id, window: '24h' } } })),
    // Calls that were made while another page was open were not heard here.
    staleTime: 0,
  });
