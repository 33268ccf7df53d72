// A call that was taken on as a task: followed to its end, and how far it has come.
import { api, ask, type Schemas } from './client';

type Result = Schemas['ToolExecutionResult'];
export type Task = Schemas['Task'];
export type Made = Result | Schemas['AcceptedTask'];

const PAUSE = 500;

function rest(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, PAUSE);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}

/** The outcome of a call: at once, or once its task has ended. Whoever stops waiting cancels the task. */
export async function outcomeOf(
  given: Made, signal?: AbortSignal, onChange?: (task: Task) => void,
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
    await rest(signal);
  }
}

export const isEnded = (task: Task): boolean => !['queued', 'waiting', 'running'].includes(task.status);

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

/** What went wrong, where something did. */
export function failureOf({ result }: Task): Schemas['FailedExecution']['error'] | undefined {
  return result === null || result.success ? undefined : result.error;
}
