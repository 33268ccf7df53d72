// The time, told again after each pause: for what is said to be so long ago, or so far ahead.
import { useEffect, useState } from 'react';

export function useNow(pause: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), pause);
    return () => clearInterval(timer);
  }, [pause]);
  return now;
}
