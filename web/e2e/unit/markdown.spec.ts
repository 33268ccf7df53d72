// Incremental Markdown: finished blocks are not parsed again, and the result equals that of the whole text.
import { expect, test } from '@playwright/test';

import { safeAddress } from '../../src/components/markdown/address';
import { type Block, NOTHING, read } from '../../src/components/markdown/blocks';
import { decoded } from '../../src/components/markdown/entities';

const TEXT = '# Title\n\nSome *words*\nand more.\n\n- one\n\n- two\n  - three\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nconst a = `b`;\n\n```\n\n> said\n\nHeading\n---\n\nEnd.';

const shape = (blocks: readonly Block[]) => blocks.map(({ token, raw }) => [token.type, raw]);

test('incremental parsing equals parsing the whole text', () => {
  let known = NOTHING;
  for (let end = 1; end <= TEXT.length; end += 1) known = read(TEXT.slice(0, end), known);
  expect(shape(known.blocks)).toEqual(shape(read(TEXT, NOTHING).blocks));
});

test('finished blocks stay the same objects', () => {
  const before = read(`${TEXT} `, NOTHING);
  const next = read(`${TEXT} And one more.`, before);
  expect(next.blocks.slice(0, -1).every((block, at) => block === before.blocks[at])).toBe(true);
  expect(read('Something else', before).blocks).toHaveLength(1);
});

test('links lead to web pages only', () => {
  expect(safeAddress('https://example.com/a')).toBe('https://example.com/a');
  expect(safeAddress('mailto:ada@example.com')).toBe('mailto:ada@example.com');
  for (const bad of ['javascript:alert(1)', ' JaVaScRiPt:alert(1)', 'data:text/html,x', '/settings', 'vbscript:x']) expect(safeAddress(bad)).toBeUndefined();
});

test('entities are decoded', () => {
  expect(decoded('a &lt; b &amp;&amp; c &#65; &#x1F600; &nothing; &')).toBe('a < b && c A 😀 &nothing; &');
});
