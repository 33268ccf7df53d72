// Subscribes to the events of the space: they invalidate cached queries, and pages receive them by hooks.
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useMemo, useRef } from 'react';

import { EventStream } from '@/api/events';
import { LiveContext } from '@/api/liveEvents';
import { useMe } from '@/api/me';

import { Renewal } from './renewal';

export function LiveEvents({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const { user, space } = useMe();
  const name = `haft.events.${user.id}.${space?.id ?? ''}`;
  const stream = useMemo(() => new EventStream(name), [name]);
  useEffect(() => stream.open(), [stream]);
  const isAgain = useRef(false);
  useEffect(() => {
    const renewal = new Renewal(queries);
    const leave = stream.listen((event) => {
      // Missed events are replayed, except those of calls.
      if (event.type === 'ready') {
        // On the first connection only approvals are refetched: the pages were read a moment ago.
        void queries.invalidateQueries(isAgain.current ? {} : { queryKey: ['approvals'] });
      }
      isAgain.current ||= event.type === 'ready';
      renewal.handle(event);
    });
    return () => {
      leave();
      renewal.stop();
    };
  }, [stream, queries]);
  return <LiveContext value={stream}>{children}</LiveContext>;
}
