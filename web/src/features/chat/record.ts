// Decides whether a call is in the call log: only calls that reached their tool, or were refused by it, are.
import type { Call, Result } from './wire';

/** Tools that the agent loop executes itself. */
const LOOP_TOOLS = new Set(['find_tools', 'task_result', 'read_result']);

/** Error kinds of calls that never reached a tool: budget exceeded, unknown tool, no capacity, or stopped. */
const KINDS_BEFORE_CALL = new Set(['BudgetExceeded', 'NotFound', 'Overloaded', 'Unavailable', 'Internal', 'Cancelled']);

/**
 * The server does not report it. A call that never reached a tool has no duration and no attempts, but so
 * have some logged calls; their error kind distinguishes most of them. In doubt the result is false: no link
 * is better than a broken one.
 */
export function isLogged({ name, arguments: given, taskId }: Partial<Pick<Call, 'name' | 'arguments' | 'taskId'>>, result: Result): boolean {
  if (result.executionTime > 0 || result.cached) return true;
  if (name !== undefined && LOOP_TOOLS.has(name)) return false;
  // A call that became a task is always logged.
  if (result.attempts > 0 || result.success || taskId !== undefined) return true;
  // Invalid JSON arguments arrive as the text that the model wrote.
  const isRead = given === undefined || (typeof given === 'object' && given !== null && !Array.isArray(given));
  return isRead && !KINDS_BEFORE_CALL.has(result.error.kind);
}
