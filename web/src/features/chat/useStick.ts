// Stays with the end of a talk while it grows, unless the reader went up to read, or opened something to read it.
import { useCallback, useLayoutEffect, useRef, useState } from 'react';

import type { Turn } from './wire';

/** So near to the end counts as being there. */
const NEAR = 48;

export function useStick(turns: readonly Turn[]) {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const isStuck = useRef(true);
  /** The reader did something in the talk, and nothing came since: what grows is what they opened. */
  const isTouched = useRef(false);
  const top = useRef(0);
  const [isAway, setIsAway] = useState(false);

  const toEnd = useCallback((behavior: ScrollBehavior = 'instant') => {
    isStuck.current = true;
    isTouched.current = false;
    setIsAway(false);
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight, behavior });
  }, []);

  const onScroll = useCallback(() => {
    const place = scroller.current;
    if (place === null) return;
    const isNear = isNearEnd(place);
    // Only who moves up leaves the end; what grows below does not take one away from it.
    if (isNear) isStuck.current = true;
    else if (place.scrollTop < top.current) isStuck.current = false;
    top.current = place.scrollTop;
    setIsAway(!isNear && !isStuck.current);
  }, []);

  /** Whoever opened something stays with it, also where that leaves the end. */
  const settle = useCallback(() => {
    const place = scroller.current;
    if (place === null || !isTouched.current) return;
    isStuck.current = isNearEnd(place);
    setIsAway(!isStuck.current);
  }, []);

  useLayoutEffect(() => {
    isTouched.current = false;
  }, [turns]);

  useLayoutEffect(() => {
    const [place, column] = [scroller.current, content.current];
    if (place === null || column === null) return undefined;
    const watch = new ResizeObserver((entries) => {
      // Less room is not what was opened.
      const isRoom = entries.some(({ target }) => target === place);
      if (isTouched.current && !isRoom) settle();
      else if (isStuck.current) place.scrollTo({ top: place.scrollHeight, behavior: 'instant' });
    });
    const touch = () => {
      isTouched.current = true;
      // By then it is drawn, and nothing else is yet.
      setTimeout(settle);
    };
    watch.observe(column);
    watch.observe(place);
    for (const type of TOUCHES) column.addEventListener(type, touch);
    return () => {
      watch.disconnect();
      for (const type of TOUCHES) column.removeEventListener(type, touch);
    };
  }, [settle]);

  return { scroller, content, isAway, toEnd, onScroll };
}

const TOUCHES = ['click', 'keydown', 'input'] as const;

const isNearEnd = (place: HTMLElement): boolean => place.scrollHeight - place.scrollTop - place.clientHeight < NEAR;
