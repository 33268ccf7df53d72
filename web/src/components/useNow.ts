// The time, told again after each pause: for what is said to be so long ago, or so far ahead.
import { useEffect, useState } from 'react';

/** Without a pause it stands still. */
export function useNow(pause: number | undefined): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (pause === undefined) return undefined;
    const timer = setInterval(() => setNow(Date.now()), pause);
    return () => clearInterval(timer);
  }, [pause]);
  return now;
}
