// Loads a conversation, follows it while a turn is running, and reloads it at the end of the turn.
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';

import { ApiError } from '@/api/client';
import { inSlot } from '@/api/leader';
import { useEvents } from '@/api/liveEvents';
import { useIsVisible } from '@/components/useIsVisible';

import { applyEvent, hasMessage, revertSent, SENT, withSent } from './conversation';
import { follow } from './follow';
import { conversationKey, conversationQuery, FOLLOWED } from './queries';
import type { Accepted, ChatEvent, Conversation, Input, Turn } from './wire';

/**
 * Maximum number of conversation streams in all tabs: each uses one of the browser's six connections to the
 * server.
 */
const STREAMS = 3;

export function useConversation(id: string) {
  const queries = useQueryClient();
  const query = useQuery(conversationQuery(id));
  const isRead = query.data !== undefined && query.isFetchedAfterMount;
  const isTurnRunning = query.data !== undefined && (query.data.status === 'running' || query.data.turns.at(-1)?.finishReason === null);
  const isVisible = useIsVisible();
  const isFollowed = isRead && isVisible && isTurnRunning;
  const [isConnected, setIsConnected] = useState(true);
  // An idle conversation has no separate stream; the shared stream announces changes.
  useEvents(({ type, conversationId, status }) => {
    if (type !== 'conversation.changed' || conversationId !== id || FOLLOWED.has(id)) return;
    const known = STATUSES.find((one) => one === status);
    if (known !== undefined) queries.setQueryData<Conversation>(conversationKey(id), (talk) => talk && { ...talk, status: known });
    void queries.invalidateQueries({ queryKey: conversationKey(id) });
  });
  useEffect(() => {
    if (!isFollowed) return undefined;
    const controller = new AbortController();
    void inSlot({ name: 'haft.talks', count: STREAMS }, controller.signal, (signal) => new Promise((done) => {
      FOLLOWED.add(id);
      const leave = follow(id, {
        // The running turn is replayed from its start.
        after: queries.getQueryData<Conversation>(conversationKey(id))?.lastEventId,
        onState: setIsConnected,
        isGone: () => isGone(queries, id),
        onEvents: (events) => {
          change(queries, id, (turns) => events.reduce(applyEvent, turns));
          settle(queries, id, events);
        },
      });
      signal.addEventListener('abort', () => {
        FOLLOWED.delete(id);
        leave();
        done();
      }, { once: true });
    }));
    return () => controller.abort();
  }, [queries, id, isFollowed]);
  return { ...query, isConnected: isConnected || !isFollowed };
}

const STATUSES: readonly Conversation['status'][] = ['idle', 'running', 'waiting'];

/** Reloads the conversation. Returns true if the server confirms that it does not exist. */
async function isGone(queries: QueryClient, id: string): Promise<boolean> {
  await queries.refetchQueries({ queryKey: conversationKey(id) });
  const error = queries.getQueryState(conversationKey(id))?.error;
  const isSo = error instanceof ApiError && error.status === NOT_FOUND;
  if (isSo) void queries.invalidateQueries({ queryKey: ['conversations', 'list'] });
  return isSo;
}

const NOT_FOUND = 404;

function change(queries: QueryClient, id: string, by: (turns: readonly Turn[]) => readonly Turn[]): void {
  queries.setQueryData<Conversation>(conversationKey(id), (talk) => talk && { ...talk, turns: by(talk.turns) });
}

/**
 * Refetches the conversation at the end of a turn, for times and title, and the list when a turn starts,
 * waits or ends.
 */
function settle(queries: QueryClient, id: string, events: readonly ChatEvent[]): void {
  const isEnd = events.some(({ type }) => type === 'done');
  if (isEnd) void queries.invalidateQueries({ queryKey: conversationKey(id) });
  if (isEnd || events.some(({ type }) => type === 'turn.start' || type === 'tool.pending')) {
    void queries.invalidateQueries({ queryKey: ['conversations', 'list'] });
  }
}

/** Time after which an accepted message that no event has announced is loaded by a request. */
const EVENT_TIMEOUT = 3000;

/** Gives the sent message the id under which the server accepted it. */
export function markAccepted(queries: QueryClient, id: string, messageId: string): void {
  const isSent = () => turnsOf(queries, id).some(({ turn }) => turn === SENT);
  if (!isSent()) return;
  change(queries, id, (turns) => turns.map((one) => (one.turn === SENT ? { ...one, input: withId(one.input, messageId) } : one)));
  setTimeout(() => {
    if (isSent()) void queries.invalidateQueries({ queryKey: conversationKey(id) });
  }, EVENT_TIMEOUT);
}

const withId = (input: readonly Input[], messageId: string): Input[] => (
  input.map((one, at) => (one.role !== 'task' && at === input.length - 1 ? { ...one, messageId } : one))
);

/** Shows a message immediately while it is being sent. */
export function showSent(queries: QueryClient, id: string, input: readonly Input[], replaces?: number): void {
  change(queries, id, (turns) => withSent(turns, input, replaces));
}

/** Shows an accepted message that replaces a turn, unless an event has announced it already. */
export function showAccepted(queries: QueryClient, id: string, input: readonly Input[], messageId: string, replaces: number): void {
  if (hasMessage(turnsOf(queries, id), messageId)) return;
  showSent(queries, id, input, replaces);
  markAccepted(queries, id, messageId);
}

/**
 * Removes a refused message. The turn it was to replace is reloaded, since another client may have replaced
 * it.
 */
export function revertRefused(queries: QueryClient, id: string, before: readonly Turn[], replaces?: number): void {
  change(queries, id, (turns) => revertSent(turns, before, replaces));
  if (replaces !== undefined) void queries.invalidateQueries({ queryKey: conversationKey(id) });
}

/** Waits until an event announces a turn after `last`; after a timeout the conversation is reloaded. */
export async function untilNextTurn(queries: QueryClient, id: string, last: number | undefined): Promise<void> {
  const hasNextTurn = () => lastOf(turnsOf(queries, id)) !== last;
  const isConnected = await new Promise<boolean>((settle) => {
    const leave = queries.getQueryCache().subscribe(() => end(hasNextTurn()));
    const timer = setTimeout(() => end(hasNextTurn(), true), EVENT_TIMEOUT);
    const end = (is: boolean, isLate = false) => {
      if (!is && !isLate) return;
      leave();
      clearTimeout(timer);
      settle(is);
    };
    end(hasNextTurn());
  });
  if (!isConnected) await queries.invalidateQueries({ queryKey: conversationKey(id) });
}

export const turnsOf = (queries: QueryClient, id: string): readonly Turn[] => queries.getQueryData<Conversation>(conversationKey(id))?.turns ?? [];

export const lastOf = (turns: readonly Turn[]): number | undefined => turns.at(-1)?.turn;

/** Caches a new conversation until it is loaded. */
export function cacheNewConversation(queries: QueryClient, { conversationId: id, messageId }: Accepted, agent: { id: string; name: string } | undefined, input: readonly Input[]): void {
  const now = new Date().toISOString();
  queries.setQueryData<Conversation>(conversationKey(id), {
    id, title: '', agentId: agent?.id ?? null, agentName: agent?.name ?? null, status: 'running', createdAt: now, updatedAt: now, pending: [], turns: withSent([], withId(input, messageId)),
  });
  void queries.invalidateQueries({ queryKey: ['conversations', 'list'] });
}
