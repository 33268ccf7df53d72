// How new calls come into the log: each once, in order, and without pushing what is read.
import { expect, test } from '@playwright/test';

import { Batch } from '../../src/api/batch';
import { beginning, type Row } from '../../src/features/calls/filters';
import { emptyAtEnd, type Log, type LogPage, lookedBackTo, merged, MOST_FOLLOWED, pageOf, released, rows, withFresh } from '../../src/features/calls/log';

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
  const both = merged(known, down(5, 2));
  expect(numbers(both)).toEqual([5, 4, 3, 2, 1]);
  expect(both[2]).toBe(known[0]);
  expect(merged(known, down(2, 1))).toBe(known);
});

test('at the top new rows are shown at once, also one that took long', () => {
  const before = log(page([row(5), row(3)]), page([row(2), row(1)], null));
  const after = withFresh(before, page([row(6), row(5), row(4), row(3), row(2)]), false);
  expect(numbers(rows(after))).toEqual([6, 5, 4, 3, 2, 1]);
});

test('nothing new changes nothing', () => {
  const before = log(page(down(3, 1)));
  expect(withFresh(before, page(down(3, 1)), false)).toBe(before);
  expect(withFresh(before, page(down(3, 1)), true)).toBe(before);
});

test('while one reads further down, new rows wait until one comes back', () => {
  const before = log(page(down(3, 2)), page([row(1)], null));
  const held = withFresh(withFresh(before, page(down(4, 1)), true), page(down(6, 2)), true);
  expect(numbers(rows(held))).toEqual([3, 2, 1]);
  expect(numbers(held.pages[0]?.waiting ?? [])).toEqual([6, 5, 4]);
  expect(numbers(rows(released(held)))).toEqual([6, 5, 4, 3, 2, 1]);
});

test('where rows are missing in between, the list begins anew, but not under the eyes of a reader', () => {
  const before = log(page(down(3, 1), null));
  const fresh = page(down(20, 15));
  const held = withFresh(before, fresh, true);
  expect(numbers(rows(held))).toEqual([3, 2, 1]);
  expect(held.pages[0]?.isTorn).toBe(true);
  expect(numbers(rows(withFresh(held, fresh, false)))).toEqual(numbers(down(20, 15)));
  expect(withFresh(before, fresh, false).pages).toEqual([fresh]);
});

test('a list that follows for long does not grow for ever', () => {
  const before = log(page(down(MOST_FOLLOWED + 10, 1)));
  const fresh = page(down(MOST_FOLLOWED + 12, MOST_FOLLOWED));
  expect(withFresh(before, fresh, false).pages).toEqual([fresh]);
});

test('pages may be empty before the last, and the cursor says how far back was looked', () => {
  const cursor = btoa(JSON.stringify(['call', row(7).id]));
  const looked = log(page([row(9)]), page([]), page([], cursor));
  expect(emptyAtEnd(looked)).toBe(2);
  expect(lookedBackTo(looked)?.getTime()).toBe(Number.parseInt('01a1e1550007', 16));
  expect(lookedBackTo(log(page([row(9)], 'something else')))).toEqual(new Date('2026-11-15T09:30:00Z'));
  expect(lookedBackTo(log(page([], null)))).toBeUndefined();
});

test('how long ago becomes a moment, and a moment stays one', () => {
  expect(beginning('1h', Date.parse('2026-11-15T10:00:00Z'))).toBe('2026-11-15T09:00:00.000Z');
  expect(beginning('2026-11-15T09:30:00Z')).toBe('2026-11-15T09:30:00Z');
  expect(beginning(undefined)).toBeUndefined();
});

test('a hundred wishes are one act, and one that comes during it is a second', async () => {
  let acts = 0;
  const batch: Batch = new Batch(async () => {
    acts += 1;
    if (acts === 1) batch.wish();
    await new Promise((done) => setTimeout(done, 5));
  }, () => 10);
  for (let wish = 0; wish < 100; wish += 1) batch.wish();
  expect(acts).toBe(0);
  await expect.poll(() => acts).toBe(2);
  await new Promise((done) => setTimeout(done, 40));
  expect(acts).toBe(2);
});
