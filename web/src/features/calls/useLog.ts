// Loads the call log for given filters: pages by scrolling, and its head while calls are made.
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';

import { api, ask } from '@/api/client';
import { useEndedCalls } from '@/api/liveEvents';

import { type Filters, queryOf, type Row } from './filters';
import { emptyAtEnd, type Log, type LogPage, MAX_WAITING, PAGE_SIZE, pageOf, rows, searchedBackTo, showWaiting, withNewestPage } from './log';

/** Minimum pause between updates of the newest page. */
const FOLLOW_PAUSE = 500;

/**
 * Number of consecutive empty pages, each of thousands of scanned calls, after which the user is queryOf
 * whether to continue.
 */
const MAX_EMPTY_PAGES = 20;

async function fetchPage(filters: Filters, cursor: string | null, signal?: AbortSignal): Promise<LogPage> {
  const query = { ...queryOf(filters), limit: PAGE_SIZE, ...(cursor === null ? {} : { cursor }) };
  return pageOf(await ask(api.GET('/api/tool-calls', { params: { query }, ...(signal === undefined ? {} : { signal }) })));
}

export interface Following {
  rows: readonly Row[];
  /** Number of held-back rows. */
  waiting: number;
  /** True if there are more held-back rows than were counted. */
  isWaitingMore: boolean;
  searchedBackTo: Date | undefined;
  /** True while the first page for new filters is loading. */
  isPending: boolean;
  error: Error | null;
  hasMore: boolean;
  isFetchingMore: boolean;
  fetchMore: () => void;
  /** Fetches the next page, unless the search has paused after many empty pages. */
  onNearEnd: () => void;
  /** True if the search has paused after many empty pages. */
  isSearchPaused: boolean;
  continueSearch: () => void;
  again: () => void;
  /** Shows the held-back rows. */
  release: () => void;
}

/** `isHeld` returns true while the user reads further down, where rows must not move. */
export function useLog(filters: Filters, isLive: boolean, isHeld: () => boolean): Following {
  const queries = useQueryClient();
  const queryKey = useMemo(() => ['calls', 'log', filters], [filters]);
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => fetchPage(filters, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
    // Logged pages do not change; only the head grows, which `renew` fetches.
    staleTime: 'static',
  });

  const renew = useCallback(async (hold: () => boolean) => {
    const before = queries.getQueryData<Log>(queryKey);
    if (before === undefined || (hold() && (before.pages[0]?.waiting.length ?? 0) >= MAX_WAITING)) return;
    const fresh = await fetchPage(filters, null);
    queries.setQueryData<Log>(queryKey, (log) => log && withNewestPage(log, fresh, hold()));
  }, [queries, queryKey, filters]);

  const isFollowing = isLive && filters.to === undefined;
  useEndedCalls(() => (isFollowing ? renew(isHeld) : undefined), FOLLOW_PAUSE);
  useRenewed(isFollowing, renew);

  const release = useCallback(() => {
    const isTorn = queries.getQueryData<Log>(queryKey)?.pages[0]?.isTorn === true;
    if (isTorn) void renew(() => false).catch(() => undefined);
    else queries.setQueryData<Log>(queryKey, (log) => log && showWaiting(log));
  }, [queries, queryKey, renew]);

  const log = query.data;
  const visibleRows = useMemo(() => (log === undefined ? [] : rows(log)), [log]);
  const empty = log === undefined ? 0 : emptyAtEnd(log);
  const [maxEmptyPages, setMaxEmptyPages] = useState(MAX_EMPTY_PAGES);
  const isSearchPaused = empty >= maxEmptyPages;
  const fetchMore = useStable(() => {
    if (query.hasNextPage && !query.isFetching) void query.fetchNextPage();
  });
  // After an empty page nothing can be scrolled, so the next page is fetched here.
  const pageCount = log?.pages.length ?? 0;
  useEffect(() => {
    if (empty > 0 && !isSearchPaused) fetchMore();
  }, [empty, pageCount, isSearchPaused, fetchMore]);
  const waiting = log?.pages[0]?.waiting.length ?? 0;
  return {
    rows: visibleRows,
    waiting,
    isWaitingMore: log?.pages[0]?.isTorn === true || waiting >= MAX_WAITING,
    searchedBackTo: log === undefined ? undefined : searchedBackTo(log),
    isPending: query.isPending,
    error: query.error,
    hasMore: query.hasNextPage,
    isFetchingMore: query.isFetchingNextPage,
    fetchMore,
    onNearEnd: useStable(() => {
      if (!isSearchPaused) fetchMore();
    }),
    isSearchPaused,
    continueSearch: () => {
      setMaxEmptyPages(empty + MAX_EMPTY_PAGES);
      fetchMore();
    },
    again: useStable(() => void query.refetch()),
    release,
  };
}

/** Updates the cached log when the user returns to it, and when a paused log follows again. */
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
