// The secrets that tools can use: those of the space and the user's own.
import { queryOptions } from '@tanstack/react-query';

import { api, ask } from '@/api/client';
import { fetchAllPages } from '@/api/pages';

export const secretsQuery = queryOptions({
  queryKey: ['secrets', 'names'],
  queryFn: async () => {
    const of = (owner: 'space' | 'me') => fetchAllPages((query) => ask(api.GET('/api/secrets', { params: { query: { owner, ...query } } })));
    return (await Promise.all([of('space'), of('me')])).flat();
  },
});
