// How many tasks of the space stand how, now.
import { queryOptions } from '@tanstack/react-query';

import { api, ask } from './client';

/** That a task is queued or begins is told by no event; that it ends or asks is. */
const PAUSE = 10_000;

export const taskSummaryQuery = queryOptions({
  queryKey: ['tasks', 'summary'],
  queryFn: () => ask(api.GET('/api/tasks/summary')),
  refetchInterval: PAUSE,
  staleTime: 0,
});
