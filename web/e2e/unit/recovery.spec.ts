// Automatic recovery: one reload per file that could not be loaded, and one retry per pause.
import { expect, test } from '@playwright/test';

import { isReloaded, recordReload, RetryLimit } from '../../src/app/recovery';

function memory() {
  const items = new Map<string, string>();
  return { getItem: (key: string) => items.get(key) ?? null, setItem: (key: string, value: string) => void items.set(key, value) };
}

test('a reload counts in the next load of the console, not in the load that requested it', () => {
  const reloads = memory();
  const gone = new Error('CallsPage.js could not be loaded');
  expect(isReloaded(gone, reloads, 'first')).toBe(false);
  recordReload(gone, reloads, 'first');
  expect(isReloaded(gone, reloads, 'first')).toBe(false);
  expect(isReloaded(gone, reloads, 'second')).toBe(true);
  expect(isReloaded(new Error('another file'), reloads, 'second')).toBe(false);
});

test('a retry is allowed once per pause', () => {
  const limit = new RetryLimit(100);
  expect([limit.take(5), limit.take(6), limit.take(104), limit.take(105), limit.take(106)]).toEqual([true, false, false, true, false]);
});
