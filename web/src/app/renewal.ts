// Invalidates cached queries by event, and refetches them after a pause.
import type { QueryKey } from '@tanstack/react-query';

import { Batch } from '@/api/batch';
import type { HaftEvent } from '@/api/events';

/** The part of `QueryClient` that is used here. */
export interface Queries {
  invalidateQueries: (what: { queryKey: QueryKey }) => Promise<unknown>;
}

/** An import emits a thousand tool events at once, which cause one refetch. */
const PAUSE = 100;

/**
 * Pause for frequent events: tasks may end by the hundred per second, and a conversation changes with each
 * step.
 */
const BUSY_PAUSE = 1000;

/** Refetches invalidated queries: soon, and frequently changing ones at most once a second. */
export class Renewal {
  private readonly soon: PendingInvalidations;
  private readonly busy: PendingInvalidations;

  constructor(queries: Queries) {
    this.soon = new PendingInvalidations(queries, PAUSE);
    this.busy = new PendingInvalidations(queries, BUSY_PAUSE);
  }

  handle(event: HaftEvent): void {
    this.soon.add(invalidatedKeys(event));
    this.busy.add(OFTEN[event.type] ?? []);
  }

  stop(): void {
    this.soon.stop();
    this.busy.stop();
  }
}

/** Query keys to invalidate at the end of a pause. */
class PendingInvalidations {
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
    if (keys.length > 0) this.batch.request();
  }

  stop(): void {
    this.batch.stop();
  }
}

/**
 * The query keys that an event invalidates, as prefixes: `tool.updated` invalidates everything under
 * `['tools']`.
 */
function invalidatedKeys({ type, what }: HaftEvent): QueryKey[] {
  if (type === 'approval.asked') return [['approvals'], ['tasks']];
  if (typeof what !== 'string') return [];
  return [`${what}s`, ...(ALSO[what] ?? [])].map((noun) => [noun]);
}

const OFTEN: Readonly<Record<string, readonly QueryKey[]>> = {
  'task.ended': [['tasks']],
  // The open conversation has a separate event stream.
  'conversation.changed': [['conversations', 'list']],
};

const ALSO: Readonly<Record<string, readonly string[]>> = {
  // Agents show the names of their tools, and tools list their agents.
  tool: ['agents'],
  // Forms list the secrets of the space together with those of the user.
  ownSecret: ['secrets'],
  // A decided approval resumes its task; a cancelled task withdraws its approval.
  approval: ['tasks'],
  task: ['approvals'],
  // The user's role or the name of the space may have changed.
  member: ['me'],
  space: ['me'],
  user: ['me'],
};
