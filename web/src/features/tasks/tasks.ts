// Views, progress and durations of tasks.
import { failureOf, isEnded, progressOf, type Task } from '@/api/task';

export { failureOf, progressOf, isEnded, type Task };
export type Status = Task['status'];
export type View = 'all' | 'waiting' | 'running' | 'failed' | 'unknown' | 'dead';

export const VIEWS: readonly View[] = ['all', 'waiting', 'running', 'failed', 'unknown', 'dead'];

export const viewOf = (word: string | undefined): View => VIEWS.find((one) => one === word) ?? 'all';

const VIEW_QUERIES: Record<View, { status?: string; deadLetter?: boolean }> = {
  all: {}, waiting: { status: 'queued,waiting' }, running: { status: 'running' }, failed: { status: 'failed' },
  unknown: { status: 'unknown' }, dead: { deadLetter: true },
};

/** The parameters of `GET /api/tasks`. */
export function queryOf(view: View, tool: string | undefined) {
  return { ...VIEW_QUERIES[view], ...(tool === undefined ? {} : { tool }) };
}

/** Returns true if the task can be cancelled: it has not ended, and no cancellation was requested. */
export const mayCancel = (task: Task): boolean => !isEnded(task) && !task.cancelAsked;

export const mayRetry = (task: Task): boolean => ['failed', 'cancelled', 'unknown'].includes(task.status);

/** In milliseconds; `undefined` for a task that has not started. */
export function durationOf({ startedAt, endedAt }: Task, now: number): number | undefined {
  if (startedAt === null) return undefined;
  return Math.max(0, (endedAt === null ? now : new Date(endedAt).getTime()) - new Date(startedAt).getTime());
}
