// Tasks as the page shows them: how they stand, how far they are, and which are asked for.
import { failureOf, howFar, isEnded, type Task } from '@/api/task';

export { failureOf, howFar, isEnded, type Task };
export type Status = Task['status'];
export type View = 'all' | 'waiting' | 'running' | 'failed' | 'unknown' | 'dead';

export const VIEWS: readonly View[] = ['all', 'waiting', 'running', 'failed', 'unknown', 'dead'];

export const viewOf = (word: string | undefined): View => VIEWS.find((one) => one === word) ?? 'all';

const ASKED: Record<View, { status?: string; deadLetter?: boolean }> = {
  all: {}, waiting: { status: 'queued,waiting' }, running: { status: 'running' }, failed: { status: 'failed' },
  unknown: { status: 'unknown' }, dead: { deadLetter: true },
};

/** As `GET /api/tasks` takes them. */
export function asked(view: View, tool: string | undefined) {
  return { ...ASKED[view], ...(tool === undefined ? {} : { tool }) };
}

/** One that was told to end does so by itself. */
export const mayCancel = (task: Task): boolean => !isEnded(task) && !task.cancelAsked;

export const mayRetry = (task: Task): boolean => ['failed', 'cancelled', 'unknown'].includes(task.status);

/** In milliseconds; undefined for what has not begun. */
export function durationOf({ startedAt, endedAt }: Task, now: number): number | undefined {
  if (startedAt === null) return undefined;
  return Math.max(0, (endedAt === null ? now : new Date(endedAt).getTime()) - new Date(startedAt).getTime());
}
