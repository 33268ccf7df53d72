// The query client. Events invalidate cached responses, so nothing is refetched without a reason.
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';

import { ApiError, isSpaceLost } from '@/api/client';
import { meQuery } from '@/api/me';
import { isReplacingSession } from '@/api/password';

const MAX_TRIES = 2;

/** Pages that need no session: the login and approval links. */
const OUTSIDE = /^\/(login$|approve\/)/;

/**
 * Redirects to the login when the session has ended, and back afterwards. `meQuery` handles the loss of a
 * space.
 */
function redirectToLogin(error: unknown, isAboutMe: boolean): void {
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
  queryCache: new QueryCache({ onError: (error, { queryKey }) => redirectToLogin(error, queryKey[0] === meQuery.queryKey[0]) }),
  mutationCache: new MutationCache({ onError: (error) => redirectToLogin(error, false) }),
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      // A 4xx response is not retried.
      retry: (tries, error) => !(error instanceof ApiError && error.status < 500) && tries < MAX_TRIES,
    },
  },
});
