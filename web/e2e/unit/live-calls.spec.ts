// Merging new calls into the log: each once, in order, and without moving visible rows.
import { expect, test } from '@playwright/test';

import { Batch } from '../../src/api/batch';
import { type Row, startTime } from '../../src/features/calls/filters';
import { emptyAtEnd, type Log, type LogPage, MAX_FOLLOWED, mergeRows, pageOf, rows, searchedBackTo, showWaiting, withNewestPage } from '../../src/features/calls/log';

function row(number: number): Row {
  const id = `01a1e155-${String(number).padStart(4, '0')}-7000-8000-000000000000`;
  return {
    id, callId: id, spaceId: id, toolId: 'calculator', toolVersion: 1, toolName: 'calculator', agentId: null, conversationId: null,
    userId: null, source: 'api', status: 'success', error: null, attempts: 1, cached: false, coerced: [], warnings: [], duration: 1,
    startedAt: '2026-11-15T09:30:00Z', replayOf: null, argumentsCut: false, resultCut: false, replayable: true, notReplayable: null,
  };
}

const down = (from: number, to: number): Row[] => Array.from({ length: from - to + 1 }, (_, index) => row(from - index));
const page = (items: Row[], nextCursor: string | null = 'next'): LogPage => pageOf({ items, nextCursor });
const log = (...pages: LogPage[]): Log => ({ pages, pageParams: pages.map((_, index) => (index === 0 ? null : 'next')) });
const numbers = (of: readonly Row[]) => of.map((one) => Number(one.id.slice(9, 13)));

test('rows are merged by id, the newest first, and known ones stay the same objects', () => {
  const known = down(3, 1);
  const both = mergeRows(known, down(5, 2));
  expect(numbers(both)).toEqual([5, 4, 3, 2, 1]);
  expect(both[2]).toBe(known[0]);
  expect(mergeRows(known, down(2, 1))).toBe(known);
});

test('at the top new rows are shown at once, also of a call that took long', () => {
  const before = log(page([row(5), row(3)]), page([row(2), row(1)], null));
  const after = withNewestPage(before, page([row(6), row(5), row(4), row(3), row(2)]), false);
  expect(numbers(rows(after))).toEqual([6, 5, 4, 3, 2, 1]);
});

test('an unchanged page changes nothing', () => {
  const before = log(page(down(3, 1)));
  expect(withNewestPage(before, page(down(3, 1)), false)).toBe(before);
  expect(withNewestPage(before, page(down(3, 1)), true)).toBe(before);
});

test('scrolled down, new rows are held back until the user returns to the top', () => {
  const before = log(page(down(3, 2)), page([row(1)], null));
  const held = withNewestPage(withNewestPage(before, page(down(4, 1)), true), page(down(6, 2)), true);
  expect(numbers(rows(held))).toEqual([3, 2, 1]);
  expect(numbers(held.pages[0]?.waiting ?? [])).toEqual([6, 5, 4]);
  expect(numbers(rows(showWaiting(held)))).toEqual([6, 5, 4, 3, 2, 1]);
});

test('missing rows reset the list, but not while the user is scrolled down', () => {
  const before = log(page(down(3, 1), null));
  const fresh = page(down(20, 15));
  const held = withNewestPage(before, fresh, true);
  expect(numbers(rows(held))).toEqual([3, 2, 1]);
  expect(held.pages[0]?.isTorn).toBe(true);
  expect(numbers(rows(withNewestPage(held, fresh, false)))).toEqual(numbers(down(20, 15)));
  expect(withNewestPage(before, fresh, false).pages).toEqual([fresh]);
});

test('a list that follows for long has a bounded size', () => {
  const before = log(page(down(MAX_FOLLOWED + 10, 1)));
  const fresh = page(down(MAX_FOLLOWED + 12, MAX_FOLLOWED));
  expect(withNewestPage(before, fresh, false).pages).toEqual([fresh]);
});

test('pages may be empty before the last, and the cursor gives the searched time', () => {
  const cursor = btoa(JSON.stringify(['call', row(7).id]));
  const looked = log(page([row(9)]), page([]), page([], cursor));
  expect(emptyAtEnd(looked)).toBe(2);
  expect(searchedBackTo(looked)?.getTime()).toBe(Number.parseInt('01a1e1550007', 16));
  expect(searchedBackTo(log(page([row(9)], 'something else')))).toEqual(new Date('2026-11-15T09:30:00Z'));
  expect(searchedBackTo(log(page([], null)))).toBeUndefined();
});

test('a duration becomes a time, and a time stays unchanged', () => {
  expect(startTime('1h', Date.parse('2026-11-15T10:00:00Z'))).toBe('2026-11-15T09:00:00.000Z');
  expect(startTime('2026-11-15T09:30:00Z')).toBe('2026-11-15T09:30:00Z');
  expect(startTime(undefined)).toBeUndefined();
});

test('a hundred requests cause one act, and a request during it a second one', async () => {
  let acts = 0;
  const batch: Batch = new Batch(async () => {
    acts += 1;
    if (acts === 1) batch.request();
    await new Promise((done) => setTimeout(done, 5));
  }, () => 10);
  for (let wish = 0; wish < 100; wish += 1) batch.request();
  expect(acts).toBe(0);
  await expect.poll(() => acts).toBe(2);
  await new Promise((done) => setTimeout(done, 40));
  expect(acts).toBe(2);
});
