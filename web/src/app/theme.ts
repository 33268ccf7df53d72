// The color theme: light, dark or that of the system.
import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';

const watchers = new Set<() => void>();

function theme(): Theme {
  const chosen = document.documentElement.dataset['theme'];
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system';
}

export function chooseTheme(next: Theme): void {
  if (next === 'system') {
    localStorage.removeItem('haft.theme');
    delete document.documentElement.dataset['theme'];
  } else {
    localStorage.setItem('haft.theme', next);
    document.documentElement.dataset['theme'] = next;
  }
  for (const watcher of watchers) watcher();
}

export function useTheme(): Theme {
  return useSyncExternalStore((watcher) => {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }, theme);
}
