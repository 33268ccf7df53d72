// The one stream of events of the console: changes make what is shown true again, pages hear of calls.
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';

import { EventStream, type HaftEvent } from '@/api/events';
import { LiveContext } from '@/api/live';

export function Live({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [stream] = useState(() => new EventStream());
  useEffect(() => stream.open(), [stream]);
  const isAgain = useRef(false);
  useEffect(
    () =>
      stream.listen((event) => {
        // What came while nobody listened is told again, but calls are not.
        if (event.type === 'ready' && isAgain.current) void queries.invalidateQueries();
        isAgain.current ||= event.type === 'ready';
        renew(queries, event);
      }),
    [stream, queries],
  );
  return <LiveContext value={stream}>{children}</LiveContext>;
}

/** `tool.updated` makes everything under `['tools']` be asked again. */
function renew(queries: QueryClient, event: HaftEvent): void {
  const what = event['what'];
  if (typeof what === 'string') void queries.invalidateQueries({ queryKey: [`${what}s`] });
  // A tool's agents show its name, and an agent's page its tools.
  if (what === 'tool') void queries.invalidateQueries({ queryKey: ['agents'] });
  // One's role may have changed, or the name of the space.
  if (what === 'member' || what === 'space' || what === 'user') void queries.invalidateQueries({ queryKey: ['me'] });
}
