// Returns true if the page is visible: not in a background tab and not minimized.
import { useSyncExternalStore } from 'react';

const subscribe = (changed: () => void) => {
  document.addEventListener('visibilitychange', changed);
  return () => document.removeEventListener('visibilitychange', changed);
};

export function useIsVisible(): boolean {
  return useSyncExternalStore(subscribe, () => !document.hidden);
}
