// Stays with the end of a talk while it grows, unless the reader went up to read.
import { useCallback, useLayoutEffect, useRef, useState } from 'react';

/** So near to the end counts as being there. */
const NEAR = 48;

export function useStick() {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const isStuck = useRef(true);
  const top = useRef(0);
  const [isAway, setIsAway] = useState(false);

  const toEnd = useCallback((behavior: ScrollBehavior = 'instant') => {
    isStuck.current = true;
    setIsAway(false);
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight, behavior });
  }, []);

  const onScroll = useCallback(() => {
    const place = scroller.current;
    if (place === null) return;
    const isNear = place.scrollHeight - place.scrollTop - place.clientHeight < NEAR;
    // Only who moves up leaves the end; what grows below does not take one away from it.
    if (isNear) isStuck.current = true;
    else if (place.scrollTop < top.current) isStuck.current = false;
    top.current = place.scrollTop;
    setIsAway(!isNear && !isStuck.current);
  }, []);

  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => {
      if (isStuck.current) scroller.current?.scrollTo({ top: scroller.current.scrollHeight, behavior: 'instant' });
    });
    if (content.current !== null) watch.observe(content.current);
    if (scroller.current !== null) watch.observe(scroller.current);
    return () => watch.disconnect();
  }, []);

  return { scroller, content, isAway, toEnd, onScroll };
}
