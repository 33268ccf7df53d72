// Whether there is no room for two things beside each other.
import { useSyncExternalStore } from 'react';

const narrow = matchMedia('(max-width: 760px)');

function watch(changed: () => void): () => void {
  narrow.addEventListener('change', changed);
  return () => narrow.removeEventListener('change', changed);
}

export function useIsNarrow(): boolean {
  return useSyncExternalStore(watch, () => narrow.matches);
}
