// Limits of automatic recovery: a failed file reloads the console once, a failed request is repeated once in a while.

type Reloads = Pick<Storage, 'getItem' | 'setItem'>;

/** Identifies the document: every load of the console has its own time origin. */
const LOAD = String(performance.timeOrigin);

const keyOf = (error: unknown): string => `haft.reloaded:${error instanceof Error ? error.message : String(error)}`;

/**
 * Returns true if an earlier load of the console in this tab was reloaded because of the same error. The present load
 * does not count: until its reload takes effect, the error page may be mounted again.
 */
export function isReloaded(error: unknown, reloads: Reloads = sessionStorage, load = LOAD): boolean {
  const reloadedBy = reloads.getItem(keyOf(error));
  return reloadedBy !== null && reloadedBy !== load;
}

/** Records that the present load of the console is reloaded because of the error. */
export function recordReload(error: unknown, reloads: Reloads = sessionStorage, load = LOAD): void {
  reloads.setItem(keyOf(error), load);
}

/** Allows one automatic retry per `pause` milliseconds, so that a request that always fails is not repeated in a loop. */
export class RetryLimit {
  private last = -Infinity;

  constructor(private readonly pause: number) {}

  /** Returns true if a retry is allowed, and counts it. */
  take(now = performance.now()): boolean {
    if (now - this.last < this.pause) return false;
    this.last = now;
    return true;
  }
}
