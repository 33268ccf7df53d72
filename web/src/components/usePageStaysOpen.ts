// Keeps the page accessible while the list of a combo box is open.
import { useEffect } from 'react';

/** React Aria does not hide elements with this attribute from screen readers when an overlay opens. */
const MARK = 'data-react-aria-top-layer';

function mark(isOpen: boolean): void {
  document.getElementById('root')?.toggleAttribute(MARK, isOpen);
}

/**
 * For the `onOpenChange` of a combo box. Otherwise React Aria hides the rest of the page from screen readers
 * while the list is open, although it can still be reached by keys and presses.
 */
export function usePageStaysOpen(): (isOpen: boolean) => void {
  useEffect(() => () => mark(false), []);
  return mark;
}
