// The tasks of a view: pages as one scrolls, asked for again as long as something goes on.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';

import { api, ask } from '@/api/client';

import { asked, isEnded, type Task, type View } from './tasks';

const PAGE_SIZE = 100;
const BUSY_PAUSE = 2000;
/** When nothing goes on, new ones come all the same. */
const IDLE_PAUSE = 10_000;

export function useTasks(view: View, tool: string | undefined) {
  const query = useInfiniteQuery({
    queryKey: ['tasks', 'list', view, tool],
    queryFn: ({ pageParam, signal }) => {
      const page = { limit: PAGE_SIZE, ...(pageParam === null ? {} : { cursor: pageParam }) };
      return ask(api.GET('/api/tasks', { params: { query: { ...asked(view, tool), ...page } }, signal }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) => {
      const isBusy = data?.pages.some((page) => page.items.some((task) => !isEnded(task))) === true;
      // Each page is asked for anew; whoever scrolled far waits longer.
      return (isBusy ? BUSY_PAUSE : IDLE_PAUSE) * Math.max(1, data?.pages.length ?? 1);
    },
  });
  const { data, hasNextPage, isFetching, fetchNextPage } = query;
  const rows = useMemo(() => once(data?.pages.flatMap((page) => page.items) ?? []), [data]);
  const onNearEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  return { ...query, rows, onNearEnd };
}

/** A task that came while pages were turned stands on two of them. */
function once(tasks: readonly Task[]): Task[] {
  return [...new Map(tasks.map((task) => [task.id, task])).values()];
}
