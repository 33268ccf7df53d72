// The position of a virtualized list on the page, which the virtualizer needs.
import { type RefObject, useLayoutEffect, useState } from 'react';

/** The distance of the rows from the top of the page, updated when content above them changes. */
export function useTop(container: RefObject<HTMLDivElement | null>): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => {
      if (container.current !== null) setTop(Math.round(container.current.getBoundingClientRect().top + window.scrollY));
    });
    watch.observe(document.body);
    return () => watch.disconnect();
  }, [container]);
  return top;
}
