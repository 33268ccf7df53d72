// What the pages of agents ask the server.
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';

import { api, ask, type Schemas } from '@/api/client';

import type { Agent } from './draft';

/** An agent with the names of its tools, read together so that they belong together. */
export interface Loaded {
  agent: Agent;
  names: ReadonlyMap<string, string>;
}

const PAGE = 50;
const MOST = 200;

export const agentsQuery = (q: string) => infiniteQueryOptions({
  queryKey: ['agents', 'list', q],
  queryFn: ({ pageParam }) => ask(api.GET('/api/agents', { params: { query: { ...found(q), ...after(pageParam), limit: PAGE } } })),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.nextCursor,
});

export const agentQuery = (id: string) => queryOptions({
  queryKey: ['agents', 'one', id],
  queryFn: async (): Promise<Loaded> => {
    const path = { id };
    const [agent, tools] = await Promise.all([
      ask(api.GET('/api/agents/{id}', { params: { path } })),
      ask(api.GET('/api/agents/{id}/tools', { params: { path } })),
    ]);
    const names = rowsOf(tools).flatMap((row): [string, string][] => (row.name === null ? [] : [[row.toolId, row.name]]));
    return { agent, names: new Map(names) };
  },
  // What is edited begins with what is true now.
  staleTime: 0,
});

/** Its tools as the model is shown them. */
export const shownQuery = (id: string) => queryOptions({
  queryKey: ['agents', 'shown', id],
  queryFn: async () => rowsOf(await ask(api.GET('/api/agents/{id}/tools', { params: { path: { id }, query: { effective: true } } }))),
  staleTime: 0,
});

function rowsOf(list: Schemas['AgentToolList']): Schemas['AgentTool'][] {
  return list.filter((row) => 'toolId' in row);
}

export const providersQuery = queryOptions({
  queryKey: ['providers'],
  queryFn: () => ask(api.GET('/api/providers', { params: { query: { limit: MOST } } })),
  select: (page) => page.items,
});

export const categoriesQuery = queryOptions({
  queryKey: ['tools', 'pick', 'categories'],
  queryFn: () => ask(api.GET('/api/tools/categories')),
  select: (list) => list.items,
});

export const toolsQuery = (which: { q?: string; category?: string }) => infiniteQueryOptions({
  queryKey: ['tools', 'pick', which],
  queryFn: ({ pageParam }) => ask(api.GET('/api/tools', { params: { query: { ...which, ...after(pageParam), limit: PAGE } } })),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.nextCursor,
});

/** A tool as it is, or as it was in one version. */
export const toolQuery = (id: string, version: number | null) => queryOptions({
  queryKey: ['tools', 'one', id, version],
  queryFn: () => (version === null
    ? ask(api.GET('/api/tools/{id}', { params: { path: { id } } }))
    : ask(api.GET('/api/tools/{id}/versions/{version}', { params: { path: { id, version } } }))),
});

export const versionsQuery = (id: string) => queryOptions({
  queryKey: ['tools', 'versions', id],
  queryFn: () => ask(api.GET('/api/tools/{id}/versions', { params: { path: { id }, query: { limit: MOST } } })),
  select: (list) => list.items,
});

const found = (q: string) => (q === '' ? {} : { q });
const after = (cursor: string | null) => (cursor === null ? {} : { cursor });
