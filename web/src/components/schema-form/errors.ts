// Which of the server's complaints belong to which field.
import type { Violation } from '@/api/client';

export const ROOT = '(root)';

export function pathOf(parent: string, name: string | number): string {
  return parent === '' ? String(name) : `${parent}.${name}`;
}

function normal(path: string): string {
  return path === ROOT ? '' : path;
}

export function isUnder(path: string, parent: string): boolean {
  const inner = normal(path);
  return parent === '' ? true : inner === parent || inner.startsWith(`${parent}.`);
}

/** What is wrong with this field itself. */
export function errorAt(errors: readonly Violation[], path: string): string | undefined {
  const own = errors.filter((error) => normal(error.path) === path);
  return own.length === 0 ? undefined : own.map((error) => error.message).join(' ');
}

/** Whether anything is wrong here or further in. */
export function isWrongWithin(errors: readonly Violation[], path: string): boolean {
  return errors.some((error) => isUnder(error.path, path));
}

/** What is wrong with an object itself, or with something in it that has no field; the latter with its name before it. */
export function errorsOfGroup(errors: readonly Violation[], path: string, names: readonly string[]): string | undefined {
  const own = errors
    .filter((error) => isUnder(error.path, path) && !names.some((name) => isUnder(error.path, pathOf(path, name))))
    .map((error) => {
      const inner = normal(error.path);
      return inner === path ? error.message : `${path === '' ? inner : inner.slice(path.length + 1)}: ${error.message}`;
    });
  return own.length === 0 ? undefined : own.join(' · ');
}
