// Queries of the chat.
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';

import { api, ask } from '@/api/client';

import { SENT } from './conversation';
import { mergeConversation } from './merge';
import { readConversation, readConversations } from './requests';
import type { Conversation } from './wire';

const PAGE = 50;
/** Refetch interval, in case events do not arrive. */
const PAUSE = 60_000;

export const conversationsQuery = (q: string) => infiniteQueryOptions({
  queryKey: ['conversations', 'list', q],
  queryFn: ({ pageParam, signal }) => readConversations({ q, cursor: pageParam, limit: PAGE }, signal),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.nextCursor,
  placeholderData: keepPreviousData,
  refetchInterval: PAUSE,
});

/** A separate key prefix: the state from events is newer than a refetch caused by a change of the list. */
export const conversationKey = (id: string) => ['talks', id] as const;

/** Ids of the conversations being followed; the cached state of the others may be outdated. */
export const FOLLOWED = new Set<string>();

const onlySent = (cached: Conversation): Conversation => ({ ...cached, turns: cached.turns.filter(({ turn }) => turn === SENT) });

export const conversationQuery = (id: string) => queryOptions({
  queryKey: conversationKey(id),
  queryFn: async ({ client, signal }): Promise<Conversation> => {
    const read = await readConversation(id, signal);
    const cached = client.getQueryData<Conversation>(conversationKey(id));
    return mergeConversation(cached === undefined || FOLLOWED.has(id) ? cached : onlySent(cached), read);
  },
  // Events update the cached state; it is refetched when the page is opened again.
  staleTime: Infinity,
  refetchOnMount: 'always',
  structuralSharing: false,
});

export const providersQuery = queryOptions({
  queryKey: ['providers', 'names'],
  queryFn: async () => (await ask(api.GET('/api/providers', { params: { query: { limit: 200 } } }))).items,
});

/** Active agents whose name contains the text. */
export const activeAgentsQuery = (q: string) => queryOptions({
  queryKey: ['agents', 'pick', q],
  queryFn: async () => {
    const query = { limit: PAGE, ...(q === '' ? {} : { q }) };
    return (await ask(api.GET('/api/agents', { params: { query } }))).items.filter(({ isActive }) => isActive);
  },
  placeholderData: keepPreviousData,
});
