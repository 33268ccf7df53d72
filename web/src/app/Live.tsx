// Subscribes to the events of the space: changes invalidate what is cached, pages hear of calls.
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useMemo, useRef } from 'react';

import { EventStream } from '@/api/events';
import { LiveContext } from '@/api/live';
import { useMe } from '@/api/me';

import { Renewal } from './renewal';

export function Live({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const { user, space } = useMe();
  const name = `haft.events.${user.id}.${space?.id ?? ''}`;
  const stream = useMemo(() => new EventStream(name), [name]);
  useEffect(() => stream.open(), [stream]);
  const isAgain = useRef(false);
  useEffect(() => {
    const renewal = new Renewal(queries);
    const leave = stream.listen((event) => {
      // What came while nobody listened is told again, but calls are not.
      if (event.type === 'ready') {
        // The first time, only what nobody may miss is asked again: pages were read moments before.
        void queries.invalidateQueries(isAgain.current ? {} : { queryKey: ['approvals'] });
      }
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
