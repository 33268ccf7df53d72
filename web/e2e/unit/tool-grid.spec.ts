// The layout of tools: by category, small categories side by side, and stable while more tools are loaded.
import { expect, test } from '@playwright/test';

import type { Schemas } from '../../src/api/client';
import { type GridRow, gridRows } from '../../src/features/tools/list/rows';

const tool = (category: string | null, at: number) => ({ id: `${category}-${at}`, category }) as Schemas['Tool'];
const tools = (category: string | null, count: number) => Array.from({ length: count }, (_, at) => tool(category, at));

function shape(row: GridRow): string {
  if (row.kind === 'cards') return `${row.tools.length} cards`;
  return row.blocks.map(({ category, span, tools: own }) => `${category} ${own.length}/${span}`).join(' | ');
}

test('small categories share a row, large ones have their own', () => {
  const all = [...tools(null, 1), ...tools('data', 1), ...tools('math', 2), ...tools('utility', 7), ...tools('weather', 1)];
  const counts = new Map([['custom', 1], ['data', 1], ['math', 2], ['utility', 7], ['weather', 1]]);
  expect(gridRows(all, 3, counts).map(shape)).toEqual([
    'custom 1/1 | data 1/1', 'math 2/2', 'utility 3/3', '3 cards', '1 cards', 'weather 1/1',
  ]);
  expect(gridRows(all, 1, counts).filter((row) => row.kind === 'band')).toHaveLength(5);
});

test('a category that is loaded in part keeps its row', () => {
  expect(gridRows([...tools('a', 1), ...tools('b', 1)], 3, new Map([['a', 1], ['b', 40]])).map(shape)).toEqual(['a 1/1', 'b 1/3']);
});

test('without headings cards follow each other', () => {
  expect(gridRows([...tools('a', 2), ...tools('b', 3)], 2, undefined).map(shape)).toEqual(['2 cards', '2 cards', '1 cards']);
});
