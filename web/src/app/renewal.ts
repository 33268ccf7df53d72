// Which of what is shown an event makes untrue, and when that is read again.
import type { QueryKey } from '@tanstack/react-query';

import { Batch } from '@/api/batch';
import type { HaftEvent } from '@/api/events';

/** The part of a query client that is needed here. */
export interface Queries {
  invalidateQueries: (what: { queryKey: QueryKey }) => Promise<unknown>;
}

/** An import tells of a thousand tools at once; they are asked for once. */
const PAUSE = 100;

/** Hundreds of tasks may end in a second, and a conversation may change with each of its steps. */
const BUSY_PAUSE = 1000;

/** Reads again what events make untrue: soon, and no more than once a second what changes often. */
export class Renewal {
  private readonly soon: Stale;
  private readonly busy: Stale;

  constructor(queries: Queries) {
    this.soon = new Stale(queries, PAUSE);
    this.busy = new Stale(queries, BUSY_PAUSE);
  }

  hear(event: HaftEvent): void {
    this.soon.add(touched(event));
    this.busy.add(OFTEN[event.type] ?? []);
  }

  stop(): void {
    this.soon.stop();
    this.busy.stop();
  }
}

/** What is no longer true, until its pause is over. */
class Stale {
  private readonly keys = new Map<string, QueryKey>();
  private readonly batch: Batch;

  constructor(queries: Queries, pause: number) {
    this.batch = new Batch(async () => {
      const stale = [...this.keys.values()];
      this.keys.clear();
      await Promise.all(stale.map((queryKey) => queries.invalidateQueries({ queryKey })));
    }, () => pause);
  }

  add(keys: readonly QueryKey[]): void {
    for (const key of keys) this.keys.set(JSON.stringify(key), key);
    if (keys.length > 0) this.batch.wish();
  }

  stop(): void {
    this.batch.stop();
  }
}

/** By the beginning of its key: `tool.updated` everything under `['tools']`. */
function touched({ type, what }: HaftEvent): QueryKey[] {
  if (type === 'approval.asked') return [['approvals'], ['tasks']];
  if (typeof what !== 'string') return [];
  return [`${what}s`, ...(ALSO[what] ?? [])].map((noun) => [noun]);
}

const OFTEN: Readonly<Record<string, readonly QueryKey[]>> = {
  'task.ended': [['tasks']],
  // The one that is open is followed by events of its own.
  'conversation.changed': [['conversations', 'list']],
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
