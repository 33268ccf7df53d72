// Remembers in this browser that the password form of the first page was skipped. The banner remains until a
// password is set.
import { useSyncExternalStore } from 'react';

const KEY = 'haft.password.skipped';
const watchers = new Set<() => void>();

export function skipPassword(user: string): void {
  localStorage.setItem(KEY, user);
  for (const watcher of watchers) watcher();
}

export function useIsPasswordSkipped(user: string): boolean {
  return useSyncExternalStore((watcher) => {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }, () => localStorage.getItem(KEY) === user);
}
