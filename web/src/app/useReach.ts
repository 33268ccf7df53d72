// Polls whether the server can be reached, until it can.
import { useEffect, useRef, useState } from 'react';

export type Reach = 'checking' | 'away' | 'there';

const PAUSE = 3000;
const PATIENCE = 5000;
/** Statuses of a proxy whose upstream server is down. */
const GATEWAY_ERRORS = [502, 503, 504];

/** `onThere` is called when a check reaches the server: the first one, or the first one after the server was away. */
export function useReach(isAsked: boolean, onThere: (wasAway: boolean) => void): Reach {
  const [reach, setReach] = useState<Reach>('checking');
  const latest = useRef(onThere);
  useEffect(() => {
    latest.current = onThere;
  });
  useEffect(() => {
    if (!isAsked) return undefined;
    const over = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last: Reach = 'checking';
    const check = async () => {
      clearTimeout(timer);
      const isThere = await isReachable();
      if (over.signal.aborted) return;
      setReach(isThere ? 'there' : 'away');
      if (!isThere) timer = setTimeout(() => void check(), PAUSE);
      else if (last !== 'there') latest.current(last === 'away');
      last = isThere ? 'there' : 'away';
    };
    window.addEventListener('online', () => void check(), { signal: over.signal });
    void check();
    return () => {
      over.abort();
      clearTimeout(timer);
    };
  }, [isAsked]);
  return reach;
}

async function isReachable(): Promise<boolean> {
  try {
    const { status } = await fetch('/healthz', { cache: 'no-store', signal: AbortSignal.timeout(PATIENCE) });
    return !GATEWAY_ERRORS.includes(status);
  } catch {
    return false;
  }
}
