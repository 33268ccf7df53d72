// The rows of the tree of JSON, where keys lead in it, and which complaints still hold.
import { expect, test } from '@playwright/test';

import { firstOpen, moveTo, rowsOf, summaryOf } from '@/components/JsonTree.rows';
import { stillWrong } from '@/features/tools/try/complaints';
import { readArguments } from '@/features/tools/try/draft';

const value = { a: 1, 'b c': [{ d: null }, 'x'] };

test('only what is open has rows, each with its path', () => {
  expect(rowsOf(value, new Set()).map((row) => row.path)).toEqual(['']);
  expect(rowsOf(value, firstOpen(value)).map((row) => row.path)).toEqual(['', 'a', '["b c"]', '["b c"][0]', '["b c"][0].d', '["b c"][1]']);
  const many = { list: Array.from({ length: 5000 }, (_, id) => ({ id })) };
  expect(rowsOf(many, firstOpen(many))).toHaveLength(2);
});

test('keys go down, in, out and back', () => {
  const rows = rowsOf(value, firstOpen(value));
  expect(moveTo('ArrowDown', rows, 5)).toEqual({ to: 5 });
  expect(moveTo('ArrowLeft', rows, 4)).toEqual({ to: 3 });
  expect(moveTo('ArrowLeft', rows, 3)).toEqual({ open: false });
  expect(moveTo('ArrowRight', rowsOf(value, new Set()), 0)).toEqual({ open: true });
  expect(moveTo('End', rows, 0)).toEqual({ to: 5 });
  expect(moveTo('x', rows, 0)).toBeNull();
});

test('long texts are cut, with a sign', () => {
  expect(summaryOf('abcdef', 3)).toBe('"abc…"');
  expect(summaryOf(undefined, 3)).toBe('null');
});

test('a field that was changed is no longer the one that was wrong', () => {
  const wrong = [{ path: 'a.0.b', message: 'is required' }, { path: 'c', message: 'too small' }];
  expect(stillWrong(wrong, { a: [{}], c: 1 }, { a: [{ b: 2 }], c: 1 }).map((one) => one.path)).toEqual(['c']);
});

test('arguments are an object, or said not to be', () => {
  expect(readArguments(' ')).toEqual({ value: {} });
  expect(readArguments('[1]')).toEqual({ why: null });
  expect('why' in readArguments('{')).toBe(true);
});
