// Assigns validation errors of the server to the fields of a form.
import { ApiError, errorText } from '@/api/client';

export interface Failures {
  /** The error of a field. */
  at: (field: string) => string | undefined;
  /** The errors of no field. */
  rest: string | undefined;
}

const NONE: Failures = { at: () => undefined, rest: undefined };

/** `fields` are the names of the form's fields. */
export function failures(error: unknown, fields: readonly string[]): Failures {
  if (error === null || error === undefined) return NONE;
  const found = new Map<string, string>();
  const others: string[] = [];
  for (const { path, message } of listed(error)) {
    const field = fields.find((one) => path === one || path.startsWith(`${one}.`));
    if (field === undefined) others.push(`${path}: ${message}`);
    else if (!found.has(field)) found.set(field, message);
  }
  const rest = found.size === 0 ? errorText(error) : others.join(', ');
  return { at: (field) => found.get(field), rest: rest === '' ? undefined : rest };
}

function listed(error: unknown): { path: string; message: string }[] {
  if (!(error instanceof ApiError)) return [];
  if (error.violations.length > 0) return error.violations;
  // A taken name and an unknown user are reported without a path.
  if (error.kind === 'Conflict' && typeof error.details['name'] === 'string') return [{ path: 'name', message: error.message }];
  if (error.details['what'] === 'user') return [{ path: 'user', message: error.message }];
  return [];
}
