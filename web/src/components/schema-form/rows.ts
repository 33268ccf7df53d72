// Names for rows that move about, and where the focus goes when they do.
import { type RefObject, useEffect, useRef, useState } from 'react';

let last = 0;
const fresh = (count: number) => Array.from({ length: count }, () => ++last);

/** One key for each row, kept while the row moves; rows that came from elsewhere get new ones. */
export function useRowKeys(count: number): [keys: number[], setKeys: (keys: number[]) => void] {
  const [keys, setKeys] = useState(() => fresh(count));
  if (keys.length === count) return [keys, setKeys];
  const fitting = keys.length > count ? keys.slice(0, count) : [...keys, ...fresh(count - keys.length)];
  setKeys(fitting);
  return [fitting, setKeys];
}

const FIELDS = 'input, textarea, [role="textbox"], button[aria-haspopup="listbox"]';

/** After the next drawing, the focus goes to the first of these that is there and can be used. */
export function useFocusNext(within: RefObject<HTMLElement | null>): (selectors: readonly string[]) => void {
  const next = useRef<readonly string[]>([]);
  useEffect(() => {
    const wanted = next.current;
    if (wanted.length === 0) return;
    next.current = [];
    for (const selector of wanted) {
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

/** The first thing to fill in within a row. */
export function firstField(row: string): string {
  return FIELDS.split(', ').map((field) => `${row} ${field}:not(:disabled)`).join(', ');
}
