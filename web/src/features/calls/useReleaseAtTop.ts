// Coming back to the top shows what waited there.
import { type RefObject, useEffect } from 'react';

export function useReleaseAtTop(place: RefObject<HTMLElement | null>, release: () => void): void {
  useEffect(() => {
    let wasAway = false;
    const look = () => {
      const isAway = place.current !== null && place.current.getBoundingClientRect().top < 0;
      if (wasAway && !isAway) release();
      wasAway = isAway;
    };
    window.addEventListener('scroll', look, { passive: true });
    return () => window.removeEventListener('scroll', look);
  }, [place, release]);
}
