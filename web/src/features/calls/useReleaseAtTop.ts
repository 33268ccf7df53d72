// Shows the held-back rows when the user scrolls back to the top.
import { type RefObject, useEffect } from 'react';

export function useReleaseAtTop(container: RefObject<HTMLElement | null>, release: () => void): void {
  useEffect(() => {
    let wasAway = false;
    const look = () => {
      const isAway = container.current !== null && container.current.getBoundingClientRect().top < 0;
      if (wasAway && !isAway) release();
      wasAway = isAway;
    };
    window.addEventListener('scroll', look, { passive: true });
    return () => window.removeEventListener('scroll', look);
  }, [container, release]);
}
