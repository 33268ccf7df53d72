// What was asked and is remembered. Events say when it is no longer true, so nothing is asked twice for nothing.
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';

import { ApiError, chosenSpace } from '@/api/client';
import { meQuery } from '@/api/me';

const MOST_TRIES = 2;

/** Where nobody has to be signed in: the door, and what a link leads to. */
const OUTSIDE = /^\/(login$|approve\/)/;

/** Who is no longer known goes to the door, and comes back. Who only lost the space that was chosen goes to their own. */
function leave(error: unknown, isSure: boolean): void {
  if (!(error instanceof ApiError) || error.status !== 401 || OUTSIDE.test(location.pathname)) return;
  if (!isSure && chosenSpace() !== null) {
    void queries.invalidateQueries({ queryKey: meQuery.queryKey });
    return;
  }
  const from = location.pathname + location.search;
  location.assign(`/login?from=${encodeURIComponent(from)}`);
}

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: (error, { queryKey }) => leave(error, queryKey[0] === meQuery.queryKey[0]) }),
  mutationCache: new MutationCache({ onError: (error) => leave(error, false) }),
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      // What the server refused it refuses again.
      retry: (tries, error) => !(error instanceof ApiError && error.status < 500) && tries < MOST_TRIES,
    },
  },
});
