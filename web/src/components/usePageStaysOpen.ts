// A list that opens under a text field leaves the rest of the page to everybody.
import { useEffect } from 'react';

/** What bears this mark is hidden from nobody when something opens. */
const MARK = 'data-react-aria-top-layer';

function mark(isOpen: boolean): void {
  document.getElementById('root')?.toggleAttribute(MARK, isOpen);
}

/**
 * For a combo box's `onOpenChange`. While its list is open, all else would be hidden from screen readers
 * though keys and presses still lead there.
 */
export function usePageStaysOpen(): (isOpen: boolean) => void {
  useEffect(() => () => mark(false), []);
  return mark;
}
