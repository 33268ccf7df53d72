// The one stream of events of the console: changes make what is shown true again, pages hear of calls.
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';

import { Batch } from '@/api/batch';
import { EventStream, type HaftEvent } from '@/api/events';
import { LiveContext } from '@/api/live';

export function Live({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [stream] = useState(() => new EventStream());
  useEffect(() => stream.open(), [stream]);
  const isAgain = useRef(false);
  useEffect(() => {
    const stale = new Set<string>();
    const isTasksAlone = () => [...stale].every((noun) => noun === 'tasks');
    const renewal = new Batch(() => renew(queries, stale), () => (isTasksAlone() ? TASKS_PAUSE : PAUSE));
    const leave = stream.listen((event) => {
      // What came while nobody listened is told again, but calls are not.
      if (event.type === 'ready' && isAgain.current) void queries.invalidateQueries();
      isAgain.current ||= event.type === 'ready';
      for (const noun of touched(event)) stale.add(noun);
      if (stale.size > 0) renewal.wish();
    });
    return () => {
      leave();
      renewal.stop();
    };
  }, [stream, queries]);
  return <LiveContext value={stream}>{children}</LiveContext>;
}

/** An import tells of a thousand tools at once; they are asked for once. */
const PAUSE = 100;

/** Hundreds of tasks may end in a second. */
const TASKS_PAUSE = 1000;

async function renew(queries: QueryClient, stale: Set<string>): Promise<void> {
  const nouns = [...stale];
  stale.clear();
  await Promise.all(nouns.map((noun) => queries.invalidateQueries({ queryKey: [noun] })));
}

/** What an event makes untrue, by the beginning of its key: `tool.updated` everything under `['tools']`. */
function touched(event: HaftEvent): string[] {
  const told = OF_TASKS[event.type];
  if (told !== undefined) return [...told];
  const what = event['what'];
  if (typeof what !== 'string') return [];
  return [`${what}s`, ...(ALSO[what] ?? [])];
}

const OF_TASKS: Readonly<Record<string, readonly string[]>> = {
  'task.ended': ['tasks'],
  'approval.asked': ['approvals', 'tasks'],
};

const ALSO: Readonly<Record<string, readonly string[]>> = {
  // A tool's agents show its name, and an agent's page its tools.
  tool: ['agents'],
  // Forms name the secrets of the space together with one's own.
  ownSecret: ['secrets'],
  // What is decided goes on, and what is cancelled is asked about no more.
  approval: ['tasks'],
  task: ['approvals'],
  // One's role may have changed, or the name of the space.
  member: ['me'],
  space: ['me'],
  user: ['me'],
};
