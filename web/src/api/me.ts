// Who is signed in, where, and what they may do there.
import { queryOptions, useSuspenseQuery } from '@tanstack/react-query';

import { api, ask, type Schemas } from './client';

export type Me = Schemas['Me'];
export type Role = Schemas['Role'];

/** Who is no admin is not told of another role or of a new space, so it is asked now and then. */
const NOW_AND_THEN = 60_000;

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: () => ask(api.GET('/api/me')),
  staleTime: Infinity,
  refetchInterval: NOW_AND_THEN,
  refetchOnWindowFocus: 'always',
});

/** Within the shell, where somebody is signed in. */
export function useMe(): Me {
  return useSuspenseQuery(meQuery).data;
}

const RANK: Record<Role, number> = { viewer: 0, caller: 1, editor: 2, admin: 3 };

/** Whether one may do here what a role may. */
export function useMay(role: Role): boolean {
  return RANK[useMe().role] >= RANK[role];
}
