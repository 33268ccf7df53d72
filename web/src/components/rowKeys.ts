// Keyboard navigation between rows: j and k except while typing, arrow keys where no other element uses them.
import { useEffect, useRef } from 'react';

const STEPS: Record<string, number> = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };
const TYPING = 'input, textarea, select, [contenteditable="true"]';
/** Elements that use the arrow keys themselves. */
const OWN_ARROWS = 'pre, [role="tree"], [role="treegrid"], [role="listbox"], [role="menu"], [role="tablist"], button[aria-haspopup]';

export function useRowKeys(move: (by: number) => void, isPanelOpen: boolean): void {
  const latest = useRef(move);
  useEffect(() => {
    latest.current = move;
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const by = STEPS[event.key];
      // The composed path also reveals a target inside the shadow root of an editor.
      const [at] = event.composedPath();
      if (by === undefined || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !(at instanceof Element)) return;
      // A dialog in front of the panel handles its keys itself.
      if (at.closest(TYPING) !== null || document.querySelectorAll('[role="dialog"]').length > 1) return;
      const isArrow = event.key.startsWith('Arrow');
      // Elsewhere on the page arrow keys scroll.
      if (isArrow && (at.closest(OWN_ARROWS) !== null || !(isPanelOpen || at.closest('[role="table"]') !== null))) return;
      event.preventDefault();
      latest.current(by);
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [isPanelOpen]);
}
