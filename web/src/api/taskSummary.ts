// The number of tasks in the space by status.
import { queryOptions } from '@tanstack/react-query';

import { api, ask } from './client';

/** Refetch interval. No event announces that a task was queued or started. */
const PAUSE = 10_000;

export const taskSummaryQuery = queryOptions({
  queryKey: ['tasks', 'summary'],
  queryFn: () => ask(api.GET('/api/tasks/summary')),
  refetchInterval: PAUSE,
  staleTime: 0,
});
