// Whether the first page no longer asks for a password, in this browser. The banner goes on until there is one.
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
