// What was asked and is remembered. Events say when it is no longer true, so nothing is asked twice for nothing.
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';

import { ApiError, isSpaceLost } from '@/api/client';
import { meQuery } from '@/api/me';
import { isReplacingSession } from '@/api/password';

const MOST_TRIES = 2;

/** Where nobody has to be signed in: the door, and what a link leads to. */
const OUTSIDE = /^\/(login$|approve\/)/;

/** After the end of a session: to the login, and back from there. `meQuery` leaves a space that was lost. */
function leave(error: unknown, isAboutMe: boolean): void {
  if (OUTSIDE.test(location.pathname) || isReplacingSession()) return;
  if (isSpaceLost(error)) {
    if (!isAboutMe) void queries.invalidateQueries({ queryKey: meQuery.queryKey });
    return;
  }
  if (!(error instanceof ApiError) || error.status !== 401) return;
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
