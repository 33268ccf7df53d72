// The one stream of events of the console: changes make what is shown true again, pages hear of calls.
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';

import { EventStream } from '@/api/events';
import { LiveContext } from '@/api/live';

import { Renewal } from './renewal';

export function Live({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [stream] = useState(() => new EventStream());
  useEffect(() => stream.open(), [stream]);
  const isAgain = useRef(false);
  useEffect(() => {
    const renewal = new Renewal(queries);
    const leave = stream.listen((event) => {
      // What came while nobody listened is told again, but calls are not.
      if (event.type === 'ready' && isAgain.current) void queries.invalidateQueries();
      isAgain.current ||= event.type === 'ready';
      renewal.hear(event);
    });
    return () => {
      leave();
      renewal.stop();
    };
  }, [stream, queries]);
  return <LiveContext value={stream}>{children}</LiveContext>;
}
