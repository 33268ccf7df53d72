// Where on the page a long list begins, which a list drawn in parts has to know.
import { type RefObject, useLayoutEffect, useState } from 'react';

/** How far down the page the rows begin; what is above them comes and goes. */
export function useTop(place: RefObject<HTMLDivElement | null>): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => {
      if (place.current !== null) setTop(Math.round(place.current.getBoundingClientRect().top + window.scrollY));
    });
    watch.observe(document.body);
    return () => watch.disconnect();
  }, [place]);
  return top;
}
