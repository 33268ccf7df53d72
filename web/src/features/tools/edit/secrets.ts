// The names of secrets that tools may use: the space's and one's own.
import { queryOptions } from '@tanstack/react-query';

import { api, ask } from '@/api/client';

const MOST = 200;

export const secretsQuery = queryOptions({
  queryKey: ['secrets', 'names'],
  queryFn: async () => {
    const of = async (owner: 'space' | 'me') => (await ask(api.GET('/api/secrets', { params: { query: { owner, limit: MOST } } }))).items;
    return (await Promise.all([of('space'), of('me')])).flat();
  },
});
