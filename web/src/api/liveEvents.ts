// Hooks that subscribe a component to the events of the space.
import { createContext, use, useEffect, useRef, useSyncExternalStore } from 'react';

import { Batch } from './batch';
import type { EventStream, HaftEvent, StreamState } from './events';

export const LiveContext = createContext<EventStream | null>(null);

/** Subscribes to every event while the component is mounted. */
export function useEvents(listener: (event: HaftEvent) => void): void {
  const stream = use(LiveContext);
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => stream?.listen((event) => latest.current(event)), [stream]);
}

const ENDED = new Set(['tool.call.completed', 'tool.call.failed', 'tool.call.cancelled']);
/** Maximum delay between the event of a call and its row in the call log on a busy server. */
const LOG_DELAY = 3_000;
/** Pause between updates while the page is hidden. */
const HIDDEN_PAUSE = 15_000;

/**
 * Calls `act` at most once per `pause` milliseconds while calls end, and when the stream reconnects, since
 * events of calls are not replayed.
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
      batch.request();
      clearTimeout(late);
      late = setTimeout(batch.request, LOG_DELAY);
    });
    return () => {
      leave?.();
      clearTimeout(late);
      batch.stop();
    };
  }, [stream, pause]);
}

const never = () => () => undefined;

/** The state of the event stream, which shows whether the page is up to date. */
export function useStreamState(): StreamState {
  const stream = use(LiveContext);
  return useSyncExternalStore(stream?.watch ?? never, stream?.state ?? (() => 'connecting' as const));
}
