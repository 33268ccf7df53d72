// The log of calls for some filters: pages as one scrolls, and its head as calls happen.
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';

import { api, ask } from '@/api/client';
import { useEndedCalls } from '@/api/live';

import { asked, type Filters, type Row } from './filters';
import { emptyAtEnd, type Log, lookedBackTo, type LogPage, MOST_WAITING, PAGE_SIZE, pageOf, released, rows, withFresh } from './log';

/** So often the newest page is asked for while calls happen. */
const FOLLOW_PAUSE = 500;

/** So many empty pages in a row, each thousands of calls, before one is asked whether to look further. */
const PATIENCE = 20;

async function fetchPage(filters: Filters, cursor: string | null, signal?: AbortSignal): Promise<LogPage> {
  const query = { ...asked(filters), limit: PAGE_SIZE, ...(cursor === null ? {} : { cursor }) };
  return pageOf(await ask(api.GET('/api/tool-calls', { params: { query }, ...(signal === undefined ? {} : { signal }) })));
}

export interface Following {
  rows: readonly Row[];
  /** So many are newer than what is shown. */
  waiting: number;
  /** More than could be counted. */
  isWaitingMore: boolean;
  lookedBackTo: Date | undefined;
  /** What was looked for changed, and is on its way. */
  isPending: boolean;
  error: Error | null;
  hasMore: boolean;
  isFetchingMore: boolean;
  fetchMore: () => void;
  /** Goes on by itself, unless for long nothing was found. */
  onNearEnd: () => void;
  /** So much was looked through in vain that one is asked first. */
  isTired: boolean;
  lookFurther: () => void;
  again: () => void;
  /** Shows what waits. */
  release: () => void;
}

/** `isHeld` says whether one reads further down just now, where nothing may move. */
export function useLog(filters: Filters, isLive: boolean, isHeld: () => boolean): Following {
  const queries = useQueryClient();
  const queryKey = useMemo(() => ['calls', 'log', filters], [filters]);
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => fetchPage(filters, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
    // A page on record does not change; only the head grows, and that is asked for below.
    staleTime: 'static',
  });

  const renew = useCallback(async (hold: () => boolean) => {
    const before = queries.getQueryData<Log>(queryKey);
    if (before === undefined || (hold() && (before.pages[0]?.waiting.length ?? 0) >= MOST_WAITING)) return;
    const fresh = await fetchPage(filters, null);
    queries.setQueryData<Log>(queryKey, (log) => log && withFresh(log, fresh, hold()));
  }, [queries, queryKey, filters]);

  const isFollowing = isLive && filters.to === undefined;
  useEndedCalls(() => (isFollowing ? renew(isHeld) : undefined), FOLLOW_PAUSE);
  useRenewed(isFollowing, renew);

  const release = useCallback(() => {
    const isTorn = queries.getQueryData<Log>(queryKey)?.pages[0]?.isTorn === true;
    if (isTorn) void renew(() => false).catch(() => undefined);
    else queries.setQueryData<Log>(queryKey, (log) => log && released(log));
  }, [queries, queryKey, renew]);

  const log = query.data;
  const shown = useMemo(() => (log === undefined ? [] : rows(log)), [log]);
  const empty = log === undefined ? 0 : emptyAtEnd(log);
  const [patience, setPatience] = useState(PATIENCE);
  const isTired = empty >= patience;
  const fetchMore = useStable(() => {
    if (query.hasNextPage && !query.isFetching) void query.fetchNextPage();
  });
  // A page may be empty before the last one; then nothing scrolls, and one goes on from here.
  const pageCount = log?.pages.length ?? 0;
  useEffect(() => {
    if (empty > 0 && !isTired) fetchMore();
  }, [empty, pageCount, isTired, fetchMore]);
  const waiting = log?.pages[0]?.waiting.length ?? 0;
  return {
    rows: shown,
    waiting,
    isWaitingMore: log?.pages[0]?.isTorn === true || waiting >= MOST_WAITING,
    lookedBackTo: log === undefined ? undefined : lookedBackTo(log),
    isPending: query.isPending,
    error: query.error,
    hasMore: query.hasNextPage,
    isFetchingMore: query.isFetchingNextPage,
    fetchMore,
    onNearEnd: useStable(() => {
      if (!isTired) fetchMore();
    }),
    isTired,
    lookFurther: () => {
      setPatience(empty + PATIENCE);
      fetchMore();
    },
    again: useStable(() => void query.refetch()),
    release,
  };
}

/** What was remembered from an earlier visit is made true when one comes back to it, or goes on after a pause. */
function useRenewed(isFollowing: boolean, renew: (hold: () => boolean) => Promise<void>): void {
  useEffect(() => {
    if (isFollowing) void renew(() => false).catch(() => undefined);
  }, [isFollowing, renew]);
}

function useStable(act: () => void): () => void {
  const latest = useRef(act);
  useEffect(() => {
    latest.current = act;
  });
  return useCallback(() => latest.current(), []);
}
