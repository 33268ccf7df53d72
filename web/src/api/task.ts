// A call that was taken on as a task, followed to its end.
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
