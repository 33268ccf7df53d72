// Ctrl+S or ⌘S saves what is edited, wherever on the page one is.
import { useEffect, useRef } from 'react';

import { finishField } from '@/components/finishField';

export function useSaveKey(save: () => void): void {
  const latest = useRef(save);
  useEffect(() => {
    latest.current = save;
  });
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      finishField(event.target);
      // Once what the field gave is known here.
      setTimeout(() => latest.current());
    };
    // On the way down: lists and switches keep keys to themselves.
    addEventListener('keydown', pressed, { capture: true });
    return () => removeEventListener('keydown', pressed, { capture: true });
  }, []);
}
