// The call log in memory: pages loaded by scrolling, and new calls at its head.
import type { InfiniteData } from '@tanstack/react-query';

import type { Schemas } from '@/api/client';

import type { Row } from './filters';

export const PAGE_SIZE = 100;
/**
 * Maximum number of rows in memory while the list follows new calls; older ones are loaded again by
 * scrolling.
 */
export const MAX_FOLLOWED = 2000;
/** Maximum number of held-back rows; beyond it they are only counted as "many". */
export const MAX_WAITING = 1000;

export interface LogPage extends Omit<Schemas['ToolCallPage'], 'nextCursor'> {
  nextCursor: string | null;
  /** New rows held back until the user returns to the top. Only the first page has any. */
  waiting: readonly Row[];
  /** True if rows are missing between the held-back and the shown ones, since more arrived than one page. */
  isTorn: boolean;
}

export type Log = InfiniteData<LogPage>;

export function pageOf(page: { items: Row[]; nextCursor: string | null }): LogPage {
  return { ...page, waiting: [], isTorn: false };
}

/** Ids begin with the time, so their order is that of the log. */
const newestFirst = (a: Row, b: Row) => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);

/**
 * Merges rows without duplicates, the newest first. Existing row objects are reused, so that they are not
 * rendered again.
 */
export function mergeRows(known: readonly Row[], fresh: readonly Row[]): readonly Row[] {
  const ids = new Set(known.map((row) => row.id));
  const added = fresh.filter((row) => !ids.has(row.id));
  if (added.length === 0) return known;
  return [...added, ...known].sort(newestFirst);
}

function has(rows: readonly Row[], any: readonly Row[]): boolean {
  const ids = new Set(rows.map((row) => row.id));
  return any.some((row) => ids.has(row.id));
}

/**
 * Merges the refetched newest page into the log. While the user reads further down (`isHeld`), new rows are
 * held back; at the top they are shown.
 */
export function withNewestPage(log: Log, fresh: LogPage, isHeld: boolean): Log {
  const [first, ...rest] = log.pages;
  if (first === undefined) return { pages: [fresh], pageParams: [null] };
  const head = mergeRows(first.items, first.waiting);
  const isJoined = head.length === 0 || fresh.items.length === 0 || has(head, fresh.items);
  if (isHeld) {
    const shown = rest.length === 0 ? first.items : rows(log);
    const ids = new Set(shown.map((row) => row.id));
    const waiting = mergeRows(first.waiting, fresh.items.filter((row) => !ids.has(row.id)));
    if (waiting === first.waiting) return log;
    const isTorn = first.isTorn || !isJoined;
    return { ...log, pages: [{ ...first, waiting, isTorn }, ...rest] };
  }
  const count = log.pages.reduce((sum, page) => sum + page.items.length, first.waiting.length);
  // The fresh page has all rows visible at the top; the rows below are loaded again by scrolling.
  if (!isJoined || first.isTorn || count > MAX_FOLLOWED) return { pages: [fresh], pageParams: [null] };
  const below = new Set(rest.flatMap((page) => page.items.map((row) => row.id)));
  const items = mergeRows(head, fresh.items.filter((row) => !below.has(row.id)));
  if (items === first.items) return log;
  return { ...log, pages: [{ ...first, items: [...items], waiting: [] }, ...rest] };
}

/** Shows the held-back rows. */
export function showWaiting(log: Log): Log {
  const [first, ...rest] = log.pages;
  if (first === undefined || first.waiting.length === 0) return log;
  return { ...log, pages: [{ ...first, items: [...mergeRows(first.items, first.waiting)], waiting: [] }, ...rest] };
}

/** All shown rows without duplicates. */
export function rows(log: Log): Row[] {
  return log.pages.flatMap((page) => page.items);
}

/** Number of empty pages at the end. */
export function emptyAtEnd(log: Log): number {
  return log.pages.length - 1 - log.pages.findLastIndex((page) => page.items.length > 0);
}

/** The time down to which the log was searched. Returns `undefined` if it is not known. */
export function searchedBackTo(log: Log): Date | undefined {
  const cursor = log.pages.at(-1)?.nextCursor ?? null;
  const last = log.pages.findLast((page) => page.items.length > 0)?.items.at(-1);
  return (cursor === null ? undefined : timeIn(cursor)) ?? (last === undefined ? undefined : new Date(last.startedAt));
}

/**
 * The time of a cursor: it names a row whose id begins with the time. Returns `undefined` for any other form.
 */
function timeIn(cursor: string): Date | undefined {
  try {
    const id = /[0-9a-f]{8}-[0-9a-f]{4}-7/.exec(atob(cursor.replaceAll('-', '+').replaceAll('_', '/')))?.[0];
    return id === undefined ? undefined : new Date(Number.parseInt(id.slice(0, 13).replace('-', ''), 16));
  } catch {
    return undefined;
  }
}
