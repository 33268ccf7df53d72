// React keys for rows that can be moved, and the focus after a row was added, moved or removed.
import { type RefObject, useEffect, useRef, useState } from 'react';

let last = 0;
const fresh = (count: number) => Array.from({ length: count }, () => ++last);

/** Returns one key per row, stable while rows move. Rows added by other means get new keys. */
export function useRowKeys(count: number): [keys: number[], setKeys: (keys: number[]) => void] {
  const [keys, setKeys] = useState(() => fresh(count));
  if (keys.length === count) return [keys, setKeys];
  const fitting = keys.length > count ? keys.slice(0, count) : [...keys, ...fresh(count - keys.length)];
  setKeys(fitting);
  return [fitting, setKeys];
}

const FIELDS = 'input, textarea, [role="textbox"], button[aria-haspopup="listbox"]';

/** Returns a function that moves the focus, after the next render, to the first selector that matches. */
export function useFocusNext(within: RefObject<HTMLElement | null>): (selectors: readonly string[]) => void {
  const next = useRef<readonly string[]>([]);
  useEffect(() => {
    const selectors = next.current;
    if (selectors.length === 0) return;
    next.current = [];
    for (const selector of selectors) {
      const found = within.current?.querySelector<HTMLElement>(selector);
      if (found === null || found === undefined) continue;
      found.focus();
      return;
    }
  });
  return (selectors) => {
    next.current = selectors;
  };
}

/** Returns a selector for the first enabled input of a row. */
export function firstField(row: string): string {
  return FIELDS.split(', ').map((field) => `${row} ${field}:not(:disabled)`).join(', ');
}
