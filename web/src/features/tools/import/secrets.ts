// The names of the secrets of the space that have a value.
import { queryOptions } from '@tanstack/react-query';

import { api, ask } from '@/api/client';
import { fetchAllPages } from '@/api/pages';

export const secretNamesQuery = queryOptions({
  queryKey: ['secrets', 'names of the space'],
  queryFn: async (): Promise<ReadonlySet<string>> => {
    const secrets = await fetchAllPages((query) => ask(api.GET('/api/secrets', { params: { query } })));
    return new Set(secrets.filter(({ owner }) => owner === 'space').map(({ name }) => name));
  },
});
