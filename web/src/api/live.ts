// What pages hear of the space while they are open.
import { createContext, use, useEffect, useRef, useSyncExternalStore } from 'react';

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

const never = () => () => undefined;

/** Whether what is shown follows the server. */
export function useStreamState(): StreamState {
  const stream = use(LiveContext);
  return useSyncExternalStore(stream?.watch ?? never, stream?.state ?? (() => 'connecting' as const));
}
