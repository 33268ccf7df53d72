// What the pages of the chat read and remember.
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';

import { api, ask } from '@/api/client';

import { SENT } from './conversation';
import { merged } from './merge';
import { readConversation, readConversations } from './requests';
import type { Conversation } from './wire';

const PAGE = 50;
/** Events tell of changes; this is for when they do not come. */
const PAUSE = 60_000;

export const conversationsQuery = (q: string) => infiniteQueryOptions({
  queryKey: ['conversations', 'list', q],
  queryFn: ({ pageParam, signal }) => readConversations({ q, cursor: pageParam, limit: PAGE }, signal),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.nextCursor,
  placeholderData: keepPreviousData,
  refetchInterval: PAUSE,
});

/** Under a key of its own: what its events tell is newer than what would be read again when the list changes. */
export const talkKey = (id: string) => ['talks', id] as const;

/** Those that are followed now; what is known of the others may be long past. */
export const HEARD = new Set<string>();

const onlySent = (known: Conversation): Conversation => ({ ...known, turns: known.turns.filter(({ turn }) => turn === SENT) });

export const talkQuery = (id: string) => queryOptions({
  queryKey: talkKey(id),
  queryFn: async ({ client, signal }): Promise<Conversation> => {
    const read = await readConversation(id, signal);
    const known = client.getQueryData<Conversation>(talkKey(id));
    return merged(known === undefined || HEARD.has(id) ? known : onlySent(known), read);
  },
  // Events tell what changes, and what was missed is read again when one comes back.
  staleTime: Infinity,
  refetchOnMount: 'always',
  structuralSharing: false,
});

export const providersQuery = queryOptions({
  queryKey: ['providers', 'names'],
  queryFn: async () => (await ask(api.GET('/api/providers', { params: { query: { limit: 200 } } }))).items,
});

/** Those one can talk to, by a part of their name. */
export const activeAgentsQuery = (q: string) => queryOptions({
  queryKey: ['agents', 'pick', q],
  queryFn: async () => {
    const query = { limit: PAGE, ...(q === '' ? {} : { q }) };
    return (await ask(api.GET('/api/agents', { params: { query } }))).items.filter(({ isActive }) => isActive);
  },
  placeholderData: keepPreviousData,
});
