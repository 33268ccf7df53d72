// Tasks as the page shows them: how they stand, how far they are, and which are asked for.
import type { Schemas } from '@/api/client';
import type { Task } from '@/api/task';

export type { Task };
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

export const isEnded = (task: Task): boolean => !['queued', 'waiting', 'running'].includes(task.status);

/** One that was told to end does so by itself. */
export const mayCancel = (task: Task): boolean => !isEnded(task) && !task.cancelAsked;

export const mayRetry = (task: Task): boolean => ['failed', 'cancelled', 'unknown'].includes(task.status);

export interface HowFar {
  /** From 0 to 1. */
  fraction: number | undefined;
  message: string | undefined;
}

export function howFar({ progress }: Task): HowFar {
  const fields: Record<string, unknown> = progress ?? {};
  const { fraction, message } = fields;
  return {
    fraction: typeof fraction === 'number' ? Math.min(1, Math.max(0, fraction)) : undefined,
    message: typeof message === 'string' && message !== '' ? message : undefined,
  };
}

/** In milliseconds; undefined for what has not begun. */
export function durationOf({ startedAt, endedAt }: Task, now: number): number | undefined {
  if (startedAt === null) return undefined;
  return Math.max(0, (endedAt === null ? now : new Date(endedAt).getTime()) - new Date(startedAt).getTime());
}

/** What went wrong, where something did. */
export function failureOf({ result }: Task): Schemas['FailedExecution']['error'] | undefined {
  return result === null || result.success ? undefined : result.error;
}
