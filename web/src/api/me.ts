// Who is signed in, where, and what they may do there.
import { type QueryClient, queryOptions, useSuspenseQuery } from '@tanstack/react-query';

import { api, ask, chooseSpace, chosenSpace, isSpaceLost, type Schemas } from './client';

export type Me = Schemas['Me'];
export type Role = Schemas['Role'];

/** Who is no admin is not told of another role or of a new space, so it is asked now and then. */
const NOW_AND_THEN = 60_000;

const ME = ['me'];

export const meQuery = queryOptions({
  queryKey: ME,
  queryFn: ({ client }) => whoAmI(client),
  staleTime: Infinity,
  refetchInterval: NOW_AND_THEN,
  refetchOnWindowFocus: 'always',
});

/** A session in a space that was deleted, or that its user has left, goes on in the user's own space. */
async function whoAmI(queries: QueryClient): Promise<Me> {
  const read = () => ask(api.GET('/api/me'));
  const chosen = chosenSpace();
  try {
    return await read();
  } catch (error) {
    if (chosen === null || !isSpaceLost(error)) throw error;
    chooseSpace(null);
    try {
      const me = await read();
      // What is shown by now belongs to the other space.
      if (queries.getQueryData(ME) !== undefined) location.assign('/');
      return me;
    } catch (again) {
      // The session has ended meanwhile: after the login its user comes back to the chosen space.
      chooseSpace(chosen);
      throw again;
    }
  }
}

/** Within the shell, where somebody is signed in. */
export function useMe(): Me {
  return useSuspenseQuery(meQuery).data;
}

const RANK: Record<Role, number> = { viewer: 0, caller: 1, editor: 2, admin: 3 };

/** Whether one may do here what a role may. */
export function useMay(role: Role): boolean {
  return RANK[useMe().role] >= RANK[role];
}
