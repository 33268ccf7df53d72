// The rows of the JSON tree, its keyboard navigation, and which violations still apply.
import { expect, test } from '@playwright/test';

import { firstOpen, moveTo, rowsOf, summaryOf } from '@/components/JsonTree.rows';
import { readArguments } from '@/features/tools/try/draft';
import { remainingViolations } from '@/features/tools/try/violations';

const value = { a: 1, 'b c': [{ d: null }, 'x'] };

test('only open nodes have rows, each with its path', () => {
  expect(rowsOf(value, new Set()).map((row) => row.path)).toEqual(['']);
  expect(rowsOf(value, firstOpen(value)).map((row) => row.path)).toEqual(['', 'a', '["b c"]', '["b c"][0]', '["b c"][0].d', '["b c"][1]']);
  const many = { list: Array.from({ length: 5000 }, (_, id) => ({ id })) };
  expect(rowsOf(many, firstOpen(many))).toHaveLength(2);
});

test('arrow keys move down, into, out of and back', () => {
  const rows = rowsOf(value, firstOpen(value));
  expect(moveTo('ArrowDown', rows, 5)).toEqual({ to: 5 });
  expect(moveTo('ArrowLeft', rows, 4)).toEqual({ to: 3 });
  expect(moveTo('ArrowLeft', rows, 3)).toEqual({ open: false });
  expect(moveTo('ArrowRight', rowsOf(value, new Set()), 0)).toEqual({ open: true });
  expect(moveTo('End', rows, 0)).toEqual({ to: 5 });
  expect(moveTo('x', rows, 0)).toBeNull();
});

test('long texts are truncated with an ellipsis', () => {
  expect(summaryOf('abcdef', 3)).toBe('"abc…"');
  expect(summaryOf(undefined, 3)).toBe('null');
});

test('a violation is dropped when its field changes', () => {
  const wrong = [{ path: 'a.0.b', message: 'is required' }, { path: 'c', message: 'too small' }];
  expect(remainingViolations(wrong, { a: [{}], c: 1 }, { a: [{ b: 2 }], c: 1 }).map((one) => one.path)).toEqual(['c']);
});

test('arguments must be an object', () => {
  expect(readArguments(' ')).toEqual({ value: {} });
  expect(readArguments('[1]')).toEqual({ why: null });
  expect('why' in readArguments('{')).toBe(true);
});
