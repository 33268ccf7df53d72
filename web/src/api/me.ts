// The signed-in user, the current space, and the user's permissions.
import { type QueryClient, queryOptions, useSuspenseQuery } from '@tanstack/react-query';

import { api, ask, chooseSpace, chosenSpace, isSpaceLost, type Schemas } from './client';

export type Me = Schemas['Me'];
export type Role = Schemas['Role'];

/** Refetch interval. Only admins receive events about changed roles and new spaces. */
const REFETCH_INTERVAL = 60_000;

const ME = ['me'];

export const meQuery = queryOptions({
  queryKey: ME,
  queryFn: ({ client }) => fetchMe(client),
  staleTime: Infinity,
  refetchInterval: REFETCH_INTERVAL,
  refetchOnWindowFocus: 'always',
});

/**
 * Reads the current user. If the chosen space was deleted or left, the session continues in the user's
 * personal space.
 */
async function fetchMe(queries: QueryClient): Promise<Me> {
  const read = () => ask(api.GET('/api/me'));
  const chosen = chosenSpace();
  try {
    return await read();
  } catch (error) {
    if (chosen === null || !isSpaceLost(error)) throw error;
    chooseSpace(null);
    try {
      const me = await read();
      // The cached data belongs to the other space, so the console is reloaded.
      if (queries.getQueryData(ME) !== undefined) location.assign('/');
      return me;
    } catch (again) {
      // The session has ended during the request: after the login the user returns to the chosen space.
      chooseSpace(chosen);
      throw again;
    }
  }
}

/** Returns the current user. Use it inside the shell only, where a user is always signed in. */
export function useMe(): Me {
  return useSuspenseQuery(meQuery).data;
}

const RANK: Record<Role, number> = { viewer: 0, caller: 1, editor: 2, admin: 3 };

/** Returns true if the user has at least this role in the current space. */
export function useMay(role: Role): boolean {
  return RANK[useMe().role] >= RANK[role];
}
