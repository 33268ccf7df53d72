// The statistics of a tool in the last 24 hours, shared by all parts of its page.
import { queryOptions } from '@tanstack/react-query';

import { api, ask } from '@/api/client';

export const toolStatsQuery = (id: string) =>
  queryOptions({
    queryKey: ['stats', 'tool', id],
    queryFn: () => ask(api.GET('/api/stats', { params: { query: { tool: id, window: '24h' } } })),
    // Events of calls are not received while another page is open.
    staleTime: 0,
  });
