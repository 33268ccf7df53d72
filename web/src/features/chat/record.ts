// Whether a call is in the log: only what reached its tool is, or was refused there.
import type { Call, Result } from './wire';

/** What the loop answers itself. */
const OWN = new Set(['find_tools', 'task_result', 'read_result']);

/** Failures before anything was called: the budget was spent, there was no such tool, no room, or somebody pressed Stop. */
const BEFORE = new Set(['BudgetExceeded', 'NotFound', 'Overloaded', 'Unavailable', 'Internal', 'Cancelled']);

/**
 * The server does not say it. What never reached a tool took no time and no attempt, and that holds for some calls in
 * the log too: what they were refused for tells most of them apart. Where it does not, there is rather no link than
 * one that leads nowhere.
 */
export function isOnRecord({ name, arguments: given, taskId }: Partial<Pick<Call, 'name' | 'arguments' | 'taskId'>>, result: Result): boolean {
  if (result.executionTime > 0 || result.cached) return true;
  if (name !== undefined && OWN.has(name)) return false;
  // What became a task is on record however it ended.
  if (result.attempts > 0 || result.success || taskId !== undefined) return true;
  // Arguments that are no JSON come as the text that the model wrote.
  const isRead = given === undefined || (typeof given === 'object' && given !== null && !Array.isArray(given));
  return isRead && !BEFORE.has(result.error.kind);
}
