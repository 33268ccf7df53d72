// The log as it is held in memory: pages by scrolling, and what happens meanwhile at its head.
import type { InfiniteData } from '@tanstack/react-query';

import type { Schemas } from '@/api/client';

import type { Row } from './filters';

export const PAGE_SIZE = 100;
/** So many rows are kept while the list follows; more come again by scrolling. */
export const MOST_FOLLOWED = 2000;
/** So many may wait above what is read, before they are only said to be many. */
export const MOST_WAITING = 1000;

export interface LogPage extends Omit<Schemas['ToolCallPage'], 'nextCursor'> {
  nextCursor: string | null;
  /** Newer rows that wait until one comes back to the top. Only the first page has any. */
  waiting: readonly Row[];
  /** More came than was asked for: between what waits and what is shown rows are missing. */
  isTorn: boolean;
}

export type Log = InfiniteData<LogPage>;

export function pageOf(page: { items: Row[]; nextCursor: string | null }): LogPage {
  return { ...page, waiting: [], isTorn: false };
}

/** Ids begin with the time, so their order is that of the log. */
const newestFirst = (a: Row, b: Row) => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);

/** Each row once, the newest first. A row that was there stays the same object, so that it is not drawn again. */
export function merged(known: readonly Row[], fresh: readonly Row[]): readonly Row[] {
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
 * The log after its newest page was asked for again.
 * While one reads further down (`isHeld`) what is new waits; at the top it is shown.
 */
export function withFresh(log: Log, fresh: LogPage, isHeld: boolean): Log {
  const [first, ...rest] = log.pages;
  if (first === undefined) return { pages: [fresh], pageParams: [null] };
  const head = merged(first.items, first.waiting);
  const isJoined = head.length === 0 || fresh.items.length === 0 || has(head, fresh.items);
  if (isHeld) {
    const shown = rest.length === 0 ? first.items : rows(log);
    const ids = new Set(shown.map((row) => row.id));
    const waiting = merged(first.waiting, fresh.items.filter((row) => !ids.has(row.id)));
    if (waiting === first.waiting) return log;
    const isTorn = first.isTorn || !isJoined;
    return { ...log, pages: [{ ...first, waiting, isTorn }, ...rest] };
  }
  const count = log.pages.reduce((sum, page) => sum + page.items.length, first.waiting.length);
  // What is shown at the top is all on the fresh page; what lies below comes again when one scrolls there.
  if (!isJoined || first.isTorn || count > MOST_FOLLOWED) return { pages: [fresh], pageParams: [null] };
  const below = new Set(rest.flatMap((page) => page.items.map((row) => row.id)));
  const items = merged(head, fresh.items.filter((row) => !below.has(row.id)));
  if (items === first.items) return log;
  return { ...log, pages: [{ ...first, items: [...items], waiting: [] }, ...rest] };
}

/** Shows what waits. */
export function released(log: Log): Log {
  const [first, ...rest] = log.pages;
  if (first === undefined || first.waiting.length === 0) return log;
  return { ...log, pages: [{ ...first, items: [...merged(first.items, first.waiting)], waiting: [] }, ...rest] };
}

/** All rows that are shown, each once. */
export function rows(log: Log): Row[] {
  return log.pages.flatMap((page) => page.items);
}

/** So many pages at the end held nothing. */
export function emptyAtEnd(log: Log): number {
  return log.pages.length - 1 - log.pages.findLastIndex((page) => page.items.length > 0);
}

/** Down to which moment the log was looked through; undefined when that cannot be known. */
export function lookedBackTo(log: Log): Date | undefined {
  const cursor = log.pages.at(-1)?.nextCursor ?? null;
  const last = log.pages.findLast((page) => page.items.length > 0)?.items.at(-1);
  return (cursor === null ? undefined : timeIn(cursor)) ?? (last === undefined ? undefined : new Date(last.startedAt));
}

/** A cursor names the row it stands at, whose id begins with its time. One of another form says nothing. */
function timeIn(cursor: string): Date | undefined {
  try {
    const id = /[0-9a-f]{8}-[0-9a-f]{4}-7/.exec(atob(cursor.replaceAll('-', '+').replaceAll('_', '/')))?.[0];
    return id === undefined ? undefined : new Date(Number.parseInt(id.slice(0, 13).replace('-', ''), 16));
  } catch {
    return undefined;
  }
}
