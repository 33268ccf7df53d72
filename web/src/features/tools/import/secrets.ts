// Which secrets of the space have a value.
import { queryOptions } from '@tanstack/react-query';

import { api, ask } from '@/api/client';
import { everyPage } from '@/api/pages';

export const secretNamesQuery = queryOptions({
  queryKey: ['secrets', 'names of the space'],
  queryFn: async (): Promise<ReadonlySet<string>> => {
    const secrets = await everyPage((query) => ask(api.GET('/api/secrets', { params: { query } })));
    return new Set(secrets.filter(({ owner }) => owner === 'space').map(({ name }) => name));
  },
});
