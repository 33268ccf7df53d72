// What pages hear of the space while they are open.
import { createContext, use, useEffect, useRef, useSyncExternalStore } from 'react';

import { Batch } from './batch';
import type { EventStream, HaftEvent, StreamState } from './events';

export const LiveContext = createContext<EventStream | null>(null);

/** Hears every event while the component is there. */
export function useEvents(listener: (event: HaftEvent) => void): void {
  const stream = use(LiveContext);
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => stream?.listen((event) => latest.current(event)), [stream]);
}

const ENDED = new Set(['tool.call.completed', 'tool.call.failed', 'tool.call.cancelled']);
/** A call is told of before it is on record, and a busy server may take so long to write it down. */
const LATE = 3_000;
/** Nobody looks at a hidden page. */
const HIDDEN_PAUSE = 15_000;

/**
 * Acts when calls have ended, however many, once in `pause` milliseconds; also when the stream came again,
 * since calls that were made meanwhile are not told of.
 */
export function useEndedCalls(act: () => unknown, pause: number): void {
  const latest = useRef(act);
  useEffect(() => {
    latest.current = act;
  });
  const stream = use(LiveContext);
  useEffect(() => {
    const batch = new Batch(() => latest.current(), () => (document.hidden ? HIDDEN_PAUSE : pause));
    let late: ReturnType<typeof setTimeout> | undefined;
    const leave = stream?.listen((event) => {
      if (event.type !== 'ready' && !ENDED.has(event.type)) return;
      batch.wish();
      clearTimeout(late);
      late = setTimeout(batch.wish, LATE);
    });
    return () => {
      leave?.();
      clearTimeout(late);
      batch.stop();
    };
  }, [stream, pause]);
}

const never = () => () => undefined;

/** Whether what is shown follows the server. */
export function useStreamState(): StreamState {
  const stream = use(LiveContext);
  return useSyncExternalStore(stream?.watch ?? never, stream?.state ?? (() => 'connecting' as const));
}
