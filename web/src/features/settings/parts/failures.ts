// What the server refused, brought to the field it is about.
import { ApiError, wordsOf } from '@/api/client';

export interface Failures {
  /** What is wrong with a field. */
  at: (field: string) => string | undefined;
  /** What belongs to no field. */
  rest: string | undefined;
}

const NONE: Failures = { at: () => undefined, rest: undefined };

/** `fields` are those that the form has. */
export function failures(error: unknown, fields: readonly string[]): Failures {
  if (error === null || error === undefined) return NONE;
  const found = new Map<string, string>();
  const others: string[] = [];
  for (const { path, message } of listed(error)) {
    const field = fields.find((one) => path === one || path.startsWith(`${one}.`));
    if (field === undefined) others.push(`${path}: ${message}`);
    else if (!found.has(field)) found.set(field, message);
  }
  const rest = found.size === 0 ? wordsOf(error) : others.join(', ');
  return { at: (field) => found.get(field), rest: rest === '' ? undefined : rest };
}

function listed(error: unknown): { path: string; message: string }[] {
  if (!(error instanceof ApiError)) return [];
  if (error.violations.length > 0) return error.violations;
  // A name that is taken, and a user who is not there, are told without a path.
  if (error.kind === 'Conflict' && typeof error.details['name'] === 'string') return [{ path: 'name', message: error.message }];
  if (error.details['what'] === 'user') return [{ path: 'user', message: error.message }];
  return [];
}
