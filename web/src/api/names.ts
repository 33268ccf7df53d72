// Names of agents and users for lists of calls and approvals, instead of their ids.
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';

import { api, ask } from './client';
import { useMe } from './me';
import { fetchAllPages } from './pages';

export const agentNames = queryOptions({
  queryKey: ['agents', 'names'],
  queryFn: async () => (await fetchAllPages((query) => ask(api.GET('/api/agents', { params: { query } })))).map(({ id, name }) => ({ id, name })),
});

export type NameOf = (id: string | null) => string | undefined;

export function useAgentName(): NameOf {
  const { data } = useQuery(agentNames);
  return useNames(data);
}

export function usePersonName(): NameOf {
  const me = useMe();
  const space = me.space?.id;
  const { data } = useQuery({
    queryKey: ['members', 'names', space],
    enabled: space !== undefined,
    queryFn: async () => {
      const path = { id: space ?? '' };
      const members = await fetchAllPages((query) => ask(api.GET('/api/spaces/{id}/members', { params: { path, query } })));
      return members.map(({ userId, name }) => ({ id: userId, name }));
    },
  });
  return useNames(data, me.user);
}

interface Named {
  id: string;
  name: string;
}

function useNames(list: readonly Named[] | undefined, also?: Named): NameOf {
  return useMemo(() => {
    const names = new Map([...(list ?? []), ...(also === undefined ? [] : [also])].map(({ id, name }) => [id, name]));
    return (id) => (id === null ? undefined : names.get(id));
  }, [list, also]);
}

/** The last characters of an id, enough to distinguish ids on one page. */
export function short(id: string): string {
  return `…${id.slice(-6)}`;
}
