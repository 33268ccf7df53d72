// Loads the tasks of a view page by page, and polls while tasks are active.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';

import { api, ask } from '@/api/client';

import { isEnded, queryOf, type Task, type View } from './tasks';

const PAGE_SIZE = 100;
const BUSY_PAUSE = 2000;
/** Refetch interval while no task is active, for new tasks. */
const IDLE_PAUSE = 10_000;

export function useTasks(view: View, tool: string | undefined) {
  const query = useInfiniteQuery({
    queryKey: ['tasks', 'list', view, tool],
    queryFn: ({ pageParam, signal }) => {
      const page = { limit: PAGE_SIZE, ...(pageParam === null ? {} : { cursor: pageParam }) };
      return ask(api.GET('/api/tasks', { params: { query: { ...queryOf(view, tool), ...page } }, signal }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) => {
      const isBusy = data?.pages.some((page) => page.items.some((task) => !isEnded(task))) === true;
      // Each loaded page is requested again, so the interval grows with their number.
      return (isBusy ? BUSY_PAUSE : IDLE_PAUSE) * Math.max(1, data?.pages.length ?? 1);
    },
  });
  const { data, hasNextPage, isFetching, fetchNextPage } = query;
  const rows = useMemo(() => withoutDuplicates(data?.pages.flatMap((page) => page.items) ?? []), [data]);
  const onNearEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  return { ...query, rows, onNearEnd };
}

/** Removes duplicates: a task that was added between two requests is on both pages. */
function withoutDuplicates(tasks: readonly Task[]): Task[] {
  return [...new Map(tasks.map((task) => [task.id, task])).values()];
}
