// The names of secrets that tools may use: the space's and one's own.
import { queryOptions } from '@tanstack/react-query';

import { api, ask } from '@/api/client';
import { everyPage } from '@/api/pages';

export const secretsQuery = queryOptions({
  queryKey: ['secrets', 'names'],
  queryFn: async () => {
    const of = (owner: 'space' | 'me') => everyPage((query) => ask(api.GET('/api/secrets', { params: { query: { owner, ...query } } })));
    return (await Promise.all([of('space'), of('me')])).flat();
  },
});
