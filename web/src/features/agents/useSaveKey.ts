// Saves with Ctrl+S or ⌘S from anywhere on the page.
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
      // After React has processed the field's change.
      setTimeout(() => latest.current());
    };
    // Capture, because lists and switches stop the propagation of keys.
    addEventListener('keydown', pressed, { capture: true });
    return () => removeEventListener('keydown', pressed, { capture: true });
  }, []);
}
