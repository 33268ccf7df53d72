// Queries of the agent pages.
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';

import { api, ask, type Schemas } from '@/api/client';

import type { Agent } from './draft';

/** An agent and the names of its tools, fetched together so that they match. */
export interface LoadedAgent {
  agent: Agent;
  names: ReadonlyMap<string, string>;
}

const PAGE = 50;
const MAX_PAGE = 200;

export const agentsQuery = (q: string) => infiniteQueryOptions({
  queryKey: ['agents', 'list', q],
  queryFn: ({ pageParam }) => ask(api.GET('/api/agents', { params: { query: { ...searchParam(q), ...cursorParam(pageParam), limit: PAGE } } })),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.nextCursor,
});

export const agentQuery = (id: string) => queryOptions({
  queryKey: ['agents', 'one', id],
  queryFn: async (): Promise<LoadedAgent> => {
    const path = { id };
    const [agent, tools] = await Promise.all([
      ask(api.GET('/api/agents/{id}', { params: { path } })),
      ask(api.GET('/api/agents/{id}/tools', { params: { path } })),
    ]);
    const names = rowsOf(tools).flatMap((row): [string, string][] => (row.name === null ? [] : [[row.toolId, row.name]]));
    return { agent, names: new Map(names) };
  },
  // The editor starts with current data.
  staleTime: 0,
});

/** The tools of an agent with the definitions that the model sees. */
export const effectiveToolsQuery = (id: string) => queryOptions({
  queryKey: ['agents', 'shown', id],
  queryFn: async () => rowsOf(await ask(api.GET('/api/agents/{id}/tools', { params: { path: { id }, query: { effective: true } } }))),
  staleTime: 0,
});

function rowsOf(list: Schemas['AgentToolList']): Schemas['AgentTool'][] {
  return list.filter((row) => 'toolId' in row);
}

export const providersQuery = queryOptions({
  queryKey: ['providers'],
  queryFn: () => ask(api.GET('/api/providers', { params: { query: { limit: MAX_PAGE } } })),
  select: (page) => page.items,
});

export const categoriesQuery = queryOptions({
  queryKey: ['tools', 'pick', 'categories'],
  queryFn: () => ask(api.GET('/api/tools/categories')),
  select: (list) => list.items,
});

export const toolsQuery = (which: { q?: string; category?: string }) => infiniteQueryOptions({
  queryKey: ['tools', 'pick', which],
  queryFn: ({ pageParam }) => ask(api.GET('/api/tools', { params: { query: { ...which, ...cursorParam(pageParam), limit: PAGE } } })),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.nextCursor,
});

/** A tool in its live version, or in the given one. */
export const toolQuery = (id: string, version: number | null) => queryOptions({
  queryKey: ['tools', 'one', id, version],
  queryFn: () => (version === null
    ? ask(api.GET('/api/tools/{id}', { params: { path: { id } } }))
    : ask(api.GET('/api/tools/{id}/versions/{version}', { params: { path: { id, version } } }))),
});

export const versionsQuery = (id: string) => queryOptions({
  queryKey: ['tools', 'versions', id],
  queryFn: () => ask(api.GET('/api/tools/{id}/versions', { params: { path: { id }, query: { limit: MAX_PAGE } } })),
  select: (list) => list.items,
});

const searchParam = (q: string) => (q === '' ? {} : { q });
const cursorParam = (cursor: string | null) => (cursor === null ? {} : { cursor });
