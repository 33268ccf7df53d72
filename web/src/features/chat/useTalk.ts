// A conversation on the page: read once, followed while a turn is under way, and read again when it has ended.
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';

import { ApiError } from '@/api/client';
import { inSlot } from '@/api/leader';
import { useEvents } from '@/api/live';
import { useIsVisible } from '@/components/useIsVisible';

import { after, isHeardOf, SENT, takenBack, withSent } from './conversation';
import { follow } from './follow';
import { HEARD, talkKey, talkQuery } from './queries';
import type { Accepted, ChatEvent, Conversation, Input, Turn } from './wire';

/** Streams of conversations in all tabs of a browser: each takes one of its six connections to the server. */
const STREAMS = 3;

export function useTalk(id: string) {
  const queries = useQueryClient();
  const query = useQuery(talkQuery(id));
  const isRead = query.data !== undefined && query.isFetchedAfterMount;
  const isUnderWay = query.data !== undefined && (query.data.status === 'running' || query.data.turns.at(-1)?.finishReason === null);
  const isVisible = useIsVisible();
  const isFollowed = isRead && isVisible && isUnderWay;
  const [isHeard, setIsHeard] = useState(true);
  // An idle conversation holds no stream: the stream that all tabs share says when it changes.
  useEvents(({ type, conversationId, status }) => {
    if (type !== 'conversation.changed' || conversationId !== id || HEARD.has(id)) return;
    const known = STATUSES.find((one) => one === status);
    if (known !== undefined) queries.setQueryData<Conversation>(talkKey(id), (talk) => talk && { ...talk, status: known });
    void queries.invalidateQueries({ queryKey: talkKey(id) });
  });
  useEffect(() => {
    if (!isFollowed) return undefined;
    const ending = new AbortController();
    void inSlot({ name: 'haft.talks', count: STREAMS }, ending.signal, (signal) => new Promise((done) => {
      HEARD.add(id);
      const leave = follow(id, {
        // The turn under way is told from its beginning.
        after: queries.getQueryData<Conversation>(talkKey(id))?.lastEventId,
        onState: setIsHeard,
        isGone: () => isGone(queries, id),
        onEvents: (events) => {
          change(queries, id, (turns) => events.reduce(after, turns));
          settle(queries, id, events);
        },
      });
      signal.addEventListener('abort', () => {
        HEARD.delete(id);
        leave();
        done();
      }, { once: true });
    }));
    return () => ending.abort();
  }, [queries, id, isFollowed]);
  return { ...query, isHeard: isHeard || !isFollowed };
}

const STATUSES: readonly Conversation['status'][] = ['idle', 'running', 'waiting'];

/** Reads it again, so that the page says what the server says. */
async function isGone(queries: QueryClient, id: string): Promise<boolean> {
  await queries.refetchQueries({ queryKey: talkKey(id) });
  const error = queries.getQueryState(talkKey(id))?.error;
  const isSo = error instanceof ApiError && error.status === NOT_FOUND;
  if (isSo) void queries.invalidateQueries({ queryKey: ['conversations', 'list'] });
  return isSo;
}

const NOT_FOUND = 404;

function change(queries: QueryClient, id: string, by: (turns: readonly Turn[]) => readonly Turn[]): void {
  queries.setQueryData<Conversation>(talkKey(id), (talk) => talk && { ...talk, turns: by(talk.turns) });
}

/** Times and the title are known once a turn has ended; the list shows that something began or ended. */
function settle(queries: QueryClient, id: string, events: readonly ChatEvent[]): void {
  const isEnd = events.some(({ type }) => type === 'done');
  if (isEnd) void queries.invalidateQueries({ queryKey: talkKey(id) });
  if (isEnd || events.some(({ type }) => type === 'turn.start' || type === 'tool.pending')) {
    void queries.invalidateQueries({ queryKey: ['conversations', 'list'] });
  }
}

/** What was taken up and is not told of within so long is read. */
const TOLD_WITHIN = 3000;

/** The server has it; it is known by its id from now on. */
export function isTaken(queries: QueryClient, id: string, messageId: string): void {
  const isSent = () => turnsOf(queries, id).some(({ turn }) => turn === SENT);
  if (!isSent()) return;
  change(queries, id, (turns) => turns.map((one) => (one.turn === SENT ? { ...one, input: withId(one.input, messageId) } : one)));
  setTimeout(() => {
    if (isSent()) void queries.invalidateQueries({ queryKey: talkKey(id) });
  }, TOLD_WITHIN);
}

const withId = (input: readonly Input[], messageId: string): Input[] => (
  input.map((one, at) => (one.role !== 'task' && at === input.length - 1 ? { ...one, messageId } : one))
);

/** Shows what is being sent at once. */
export function showSent(queries: QueryClient, id: string, input: readonly Input[], replaces?: number): void {
  change(queries, id, (turns) => withSent(turns, input, replaces));
}

/** Shows what the server has taken in place of a turn, unless it was told of already. */
export function showTaken(queries: QueryClient, id: string, input: readonly Input[], messageId: string, replaces: number): void {
  if (isHeardOf(turnsOf(queries, id), messageId)) return;
  showSent(queries, id, input, replaces);
  isTaken(queries, id, messageId);
}

/** It was refused. What it was to replace may have been replaced meanwhile, which only the server knows. */
export function takeBack(queries: QueryClient, id: string, before: readonly Turn[], replaces?: number): void {
  change(queries, id, (turns) => takenBack(turns, before, replaces));
  if (replaces !== undefined) void queries.invalidateQueries({ queryKey: talkKey(id) });
}

/** Waits until a turn after this one is told of, or for so long that it is read. */
export async function untilTold(queries: QueryClient, id: string, last: number | undefined): Promise<void> {
  const isTold = () => lastOf(turnsOf(queries, id)) !== last;
  const isHeard = await new Promise<boolean>((settle) => {
    const leave = queries.getQueryCache().subscribe(() => end(isTold()));
    const timer = setTimeout(() => end(isTold(), true), TOLD_WITHIN);
    const end = (is: boolean, isLate = false) => {
      if (!is && !isLate) return;
      leave();
      clearTimeout(timer);
      settle(is);
    };
    end(isTold());
  });
  if (!isHeard) await queries.invalidateQueries({ queryKey: talkKey(id) });
}

export const turnsOf = (queries: QueryClient, id: string): readonly Turn[] => queries.getQueryData<Conversation>(talkKey(id))?.turns ?? [];

export const lastOf = (turns: readonly Turn[]): number | undefined => turns.at(-1)?.turn;

/** A conversation that was just begun, until it is read. */
export function beginTalk(queries: QueryClient, { conversationId: id, messageId }: Accepted, agent: { id: string; name: string } | undefined, input: readonly Input[]): void {
  const now = new Date().toISOString();
  queries.setQueryData<Conversation>(talkKey(id), {
    id, title: '', agentId: agent?.id ?? null, agentName: agent?.name ?? null, status: 'running', createdAt: now, updatedAt: now, pending: [], turns: withSent([], withId(input, messageId)),
  });
  void queries.invalidateQueries({ queryKey: ['conversations', 'list'] });
}
