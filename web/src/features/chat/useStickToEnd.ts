// Keeps a growing conversation scrolled to its end, unless the user scrolled up or expanded something.
import { useCallback, useLayoutEffect, useRef, useState } from 'react';

import type { Turn } from './wire';

/** Distance in pixels that still counts as the end. */
const NEAR = 48;

export function useStickToEnd(turns: readonly Turn[]) {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const isStuck = useRef(true);
  /** True if the user interacted since the last update: growth is then caused by the expanded element. */
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
    const viewport = scroller.current;
    if (viewport === null) return;
    const isNear = isNearEnd(viewport);
    // Only scrolling up leaves the end; growing content does not.
    if (isNear) isStuck.current = true;
    else if (viewport.scrollTop < top.current) isStuck.current = false;
    top.current = viewport.scrollTop;
    setIsAway(!isNear && !isStuck.current);
  }, []);

  /** Keeps the expanded element in view, even if that leaves the end. */
  const settle = useCallback(() => {
    const viewport = scroller.current;
    if (viewport === null || !isTouched.current) return;
    isStuck.current = isNearEnd(viewport);
    setIsAway(!isStuck.current);
  }, []);

  useLayoutEffect(() => {
    isTouched.current = false;
  }, [turns]);

  useLayoutEffect(() => {
    const [viewport, column] = [scroller.current, content.current];
    if (viewport === null || column === null) return undefined;
    const watch = new ResizeObserver((entries) => {
      // A resized viewport is not an expanded element.
      const isRoom = entries.some(({ target }) => target === viewport);
      if (isTouched.current && !isRoom) settle();
      else if (isStuck.current) viewport.scrollTo({ top: viewport.scrollHeight, behavior: 'instant' });
    });
    const touch = () => {
      isTouched.current = true;
      // After rendering, before other updates.
      setTimeout(settle);
    };
    watch.observe(column);
    watch.observe(viewport);
    for (const type of TOUCHES) column.addEventListener(type, touch);
    return () => {
      watch.disconnect();
      for (const type of TOUCHES) column.removeEventListener(type, touch);
    };
  }, [settle]);

  return { scroller, content, isAway, toEnd, onScroll };
}

const TOUCHES = ['click', 'keydown', 'input'] as const;

const isNearEnd = (viewport: HTMLElement): boolean => viewport.scrollHeight - viewport.scrollTop - viewport.clientHeight < NEAR;
