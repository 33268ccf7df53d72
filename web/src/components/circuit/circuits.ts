// Queries for circuit breakers that are open or half-open.
import { keepPreviousData, useQuery } from '@tanstack/react-query';

import { api, ask, type Schemas } from '@/api/client';

export type Circuit = Schemas['Circuit'];

/** The message counts the seconds until a trial call, and a trial call may close the breaker. */
const REFRESH = 5_000;

/**
 * The open and half-open circuit breakers; with `tool`, only those in the path of the tool's calls. `keys`
 * are the open ones known from other requests: if there are none, nothing is requested.
 */
export function useOpenCircuits(keys: readonly string[], tool?: string): readonly Circuit[] {
  const { data = [] } = useQuery({
    queryKey: ['circuits', tool ?? null, ...keys],
    queryFn: async () => (await ask(api.GET('/api/circuits', { params: { query: { tool } } }))).items.filter(({ state }) => state !== 'closed'),
    enabled: keys.length > 0,
    refetchInterval: REFRESH,
    staleTime: 0,
    placeholderData: keepPreviousData,
  });
  return keys.length === 0 ? [] : data;
}
