// Assigns the server's violations to the fields of a form by their dotted paths.
import type { Violation } from '@/api/client';

export const ROOT = '(root)';

export function pathOf(parent: string, name: string | number): string {
  return parent === '' ? String(name) : `${parent}.${name}`;
}

function normalized(path: string): string {
  return path === ROOT ? '' : path;
}

export function isUnder(path: string, parent: string): boolean {
  const inner = normalized(path);
  return parent === '' ? true : inner === parent || inner.startsWith(`${parent}.`);
}

/** Returns the messages about exactly this path, or `undefined` if there are none. */
export function errorAt(errors: readonly Violation[], path: string): string | undefined {
  const own = errors.filter((error) => normalized(error.path) === path);
  return own.length === 0 ? undefined : own.map((error) => error.message).join(' ');
}

/** Returns true if there is a violation at this path or below it. */
export function hasErrorWithin(errors: readonly Violation[], path: string): boolean {
  return errors.some((error) => isUnder(error.path, path));
}

/**
 * Returns the messages about an object and about values in it that have no field in the form (`names`).
 * The latter are prefixed with their path.
 */
export function errorsOfGroup(errors: readonly Violation[], path: string, names: readonly string[]): string | undefined {
  const own = errors
    .filter((error) => isUnder(error.path, path) && !names.some((name) => isUnder(error.path, pathOf(path, name))))
    .map((error) => {
      const inner = normalized(error.path);
      return inner === path ? error.message : `${path === '' ? inner : inner.slice(path.length + 1)}: ${error.message}`;
    });
  return own.length === 0 ? undefined : own.join(' · ');
}
