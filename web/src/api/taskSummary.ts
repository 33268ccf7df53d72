// How many tasks of the space stand how, now.
import { queryOptions } from '@tanstack/react-query';

import { ask, ownHeaders, type Schemas } from './client';

type Count = 'queued' | 'running' | 'waiting' | 'deadLetters' | 'unknown';

/** As the server's document has it, where it has it. */
export type TaskSummary = Schemas extends { TaskSummary: infer Said } ? Said : Record<Count, number>;

/** Not every step of a task is told by an event. */
const PAUSE = 10_000;

async function read(): Promise<{ data?: { data: TaskSummary }; error?: unknown; response: Response }> {
  const response = await fetch('/api/tasks/summary', { headers: ownHeaders() });
  const said: unknown = await response.json();
  return response.ok ? { data: said as { data: TaskSummary }, response } : { error: said, response };
}

export const taskSummaryQuery = queryOptions({
  queryKey: ['tasks', 'summary'],
  queryFn: () => ask(read()),
  refetchInterval: PAUSE,
  staleTime: 0,
});
