// Returns true if the window is too narrow for two columns.
import { useSyncExternalStore } from 'react';

const narrow = matchMedia('(max-width: 760px)');

function watch(changed: () => void): () => void {
  narrow.addEventListener('change', changed);
  return () => narrow.removeEventListener('change', changed);
}

export function useIsNarrow(): boolean {
  return useSyncExternalStore(watch, () => narrow.matches);
}
