// Follows a call that was accepted as a task, with its progress, until it ends.
import { api, ask, type Schemas } from './client';

type Result = Schemas['ToolExecutionResult'];
export type Task = Schemas['Task'];
export type ExecuteResponse = Result | Schemas['AcceptedTask'];

const PAUSE = 500;

function pauseUntilNextPoll(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, PAUSE);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}

/**
 * The result of a call, either immediately or when its task has ended. Aborting the signal cancels the task.
 */
export async function outcomeOf(
  given: ExecuteResponse, signal?: AbortSignal, onChange?: (task: Task) => void,
): Promise<Result> {
  if (!('taskId' in given)) return given;
  const path = { id: given.taskId };
  for (;;) {
    if (signal?.aborted === true) {
      await ask(api.POST('/api/tasks/{id}/cancel', { params: { path } })).catch(() => undefined);
      signal.throwIfAborted();
    }
    const task = await ask(api.GET('/api/tasks/{id}', { params: { path } }));
    onChange?.(task);
    if (task.result !== null) return task.result;
    await pauseUntilNextPoll(signal);
  }
}

export const isEnded = (task: Task): boolean => !['queued', 'waiting', 'running'].includes(task.status);

export interface Progress {
  /** From 0 to 1. */
  fraction: number | undefined;
  message: string | undefined;
}

export function progressOf({ progress }: Task): Progress {
  const fields: Record<string, unknown> = progress ?? {};
  const { fraction, message } = fields;
  return {
    fraction: typeof fraction === 'number' ? Math.min(1, Math.max(0, fraction)) : undefined,
    message: typeof message === 'string' && message !== '' ? message : undefined,
  };
}

/** The error of a task. Returns `undefined` if the task did not fail. */
export function failureOf({ result }: Task): Schemas['FailedExecution']['error'] | undefined {
  return result === null || result.success ? undefined : result.error;
}
