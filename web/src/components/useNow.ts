// The present time, updated after each pause, for relative times.
import { useEffect, useState } from 'react';

/** Without a pause the time is not updated. */
export function useNow(pause: number | undefined): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (pause === undefined) return undefined;
    const timer = setInterval(() => setNow(Date.now()), pause);
    return () => clearInterval(timer);
  }, [pause]);
  return now;
}
