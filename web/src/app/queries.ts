// What was asked and is remembered. Events say when it is no longer true, so nothing is asked twice for nothing.
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';

import { ApiError } from '@/api/client';

const MOST_TRIES = 2;

/** Who is no longer known goes to the door, and comes back. */
function leave(error: unknown): void {
  if (!(error instanceof ApiError) || error.status !== 401 || location.pathname === '/login') return;
  const from = location.pathname + location.search;
  location.assign(`/login?from=${encodeURIComponent(from)}`);
}

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: leave }),
  mutationCache: new MutationCache({ onError: leave }),
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      // What the server refused it refuses again.
      retry: (tries, error) => !(error instanceof ApiError && error.status < 500) && tries < MOST_TRIES,
    },
  },
});
