// From row to row by keys: j and k anywhere but where one types, arrows where nothing else needs them.
import { useEffect, useRef } from 'react';

const STEPS: Record<string, number> = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };
const TYPING = 'input, textarea, select, [contenteditable="true"]';
/** Parts that arrows move within. */
const OWN_ARROWS = 'pre, [role="tree"], [role="treegrid"], [role="listbox"], [role="menu"], [role="tablist"], button[aria-haspopup]';

export function useRowKeys(move: (by: number) => void, isPanelOpen: boolean): void {
  const latest = useRef(move);
  useEffect(() => {
    latest.current = move;
  });
  useEffect(() => {
    const hear = (event: KeyboardEvent) => {
      const by = STEPS[event.key];
      // Within an editor's shadow, which hides from here what is typed into.
      const [at] = event.composedPath();
      if (by === undefined || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !(at instanceof Element)) return;
      // What is asked in front of the panel has keys of its own.
      if (at.closest(TYPING) !== null || document.querySelectorAll('[role="dialog"]').length > 1) return;
      const isArrow = event.key.startsWith('Arrow');
      // Elsewhere on the page arrows scroll, as they do everywhere.
      if (isArrow && (at.closest(OWN_ARROWS) !== null || !(isPanelOpen || at.closest('[role="table"]') !== null))) return;
      event.preventDefault();
      latest.current(by);
    };
    document.addEventListener('keydown', hear);
    return () => document.removeEventListener('keydown', hear);
  }, [isPanelOpen]);
}
