// Three-way merge: the changes of both sides are combined, and the own change wins in a field that both
// changed.
import { expect, test } from '@playwright/test';

import { isEqual, mergeChanges } from '../../src/components/conflict/mergeChanges';

test('changes of both sides are merged field by field', () => {
  const base = { name: 'a', description: 'b', config: { url: 'u', headers: { X: '1', Y: '2' }, list: [1, 2] }, gone: 1, kept: 1 };
  for (const [mine, theirs, merged] of [
    [{}, {}, {}],
    [{ description: 'mine' }, { name: 'theirs' }, { name: 'theirs', description: 'mine' }],
    [{ description: 'mine' }, { description: 'theirs' }, { description: 'mine' }],
    [{ config: { ...base.config, url: 'mine' } }, { config: { ...base.config, headers: { X: 'theirs' } } }, { config: { url: 'mine', headers: { X: 'theirs' }, list: [1, 2] } }],
    [{ config: { ...base.config, list: [1, 2, 3] } }, { config: { ...base.config, list: [0] } }, { config: { ...base.config, list: [1, 2, 3] } }],
    [{ gone: undefined }, { kept: 2 }, { gone: undefined, kept: 2 }],
    [{ kept: 3 }, { gone: undefined }, { gone: undefined, kept: 3 }],
    [{ config: null }, { config: { url: 'theirs' } }, { config: null }],
    [{ fresh: 1 }, { fresh: { a: 1 } }, { fresh: 1 }],
  ] as const) {
    const result = mergeChanges(base, { ...base, ...mine }, { ...base, ...theirs });
    expect(isEqual(result, { ...base, ...merged }), JSON.stringify({ mine, theirs, result })).toBe(true);
  }
});

test('the order of fields and undefined fields make no difference', () => {
  expect(isEqual({ a: 1, b: [{ c: null }] }, { b: [{ c: null }], a: 1, d: undefined })).toBe(true);
  for (const [one, other] of [[{ a: 1 }, { a: '1' }], [[1, 2], [2, 1]], [[], {}], [null, {}], [{ a: null }, {}]] as const) {
    expect(isEqual(one, other)).toBe(false);
  }
});
