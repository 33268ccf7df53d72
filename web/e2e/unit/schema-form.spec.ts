// The thinking behind forms drawn from schemas, without a browser.
import { expect, test } from '@playwright/test';

import { errorAt, errorsOfGroup, isWrongWithin } from '@/components/schema-form/errors';
import { blankOf, initialValue, MOST_VALUES } from '@/components/schema-form/initial';
import { rawName, readable } from '@/components/schema-form/label';
import { limitsOf } from '@/components/schema-form/limits';
import { merge, resolve } from '@/components/schema-form/resolve';
import type { JsonSchema } from '@/components/schema-form/schema';
import { draw } from '@/components/schema-form/shape';
import { localTime, moved, objectOfRows, withField, zonedTime } from '@/components/schema-form/value';
import { switchVariant, variantOf, variantsOf } from '@/components/schema-form/variants';
import { WORDS } from '@/components/schema-form/words';

const kindOf = (schema: JsonSchema, name = '') => draw(schema, schema, name).shape.kind;

const datetime: JsonSchema = {
  type: 'object',
  oneOf: [
    { title: 'now', type: 'object', properties: { operation: { const: 'now' }, timezone: { type: 'string' } }, required: ['operation'] },
    {
      title: 'add', type: 'object', required: ['operation', 'date', 'amount'],
      properties: { operation: { enum: ['add'] }, date: { type: ['string', 'integer'] }, amount: { type: 'integer' }, timezone: { type: 'string' } },
    },
  ],
};

test.describe('resolving', () => {
  const root: JsonSchema = {
    $defs: { city: { type: 'string', minLength: 2 }, 'a/b': { type: 'integer' }, loop: { $ref: '#/$defs/loop' }, named: { $anchor: 'here', type: 'boolean' } },
  };

  test('references are followed, and what stands beside them counts', () => {
    expect(resolve({ $ref: '#/$defs/city', title: 'Town', minLength: 3 }, root)).toEqual({ type: 'string', minLength: 3, title: 'Town' });
    expect(resolve({ $ref: '#/$defs/a~1b' }, root)).toEqual({ type: 'integer' });
    expect(resolve({ $ref: '#here' }, root)['type']).toBe('boolean');
  });

  test('a circle and a reference to nothing take anything', () => {
    expect(kindOf({ ...root, $ref: '#/$defs/loop' })).toBe('json');
    expect(resolve({ $ref: '#/nowhere' }, root)).toEqual({});
  });

  test('allOf is all of them, with the narrower bounds', () => {
    const whole = resolve({
      allOf: [
        { type: 'object', properties: { a: { type: 'integer', minimum: 1, maximum: 9 } }, required: ['a'] },
        { properties: { a: { minimum: 3, maximum: 20 }, b: { type: 'string' } }, required: ['b'] },
      ],
    }, {});
    expect(whole).toMatchObject({ properties: { a: { type: 'integer', minimum: 3, maximum: 9 }, b: { type: 'string' } }, required: ['a', 'b'] });
    expect(merge({ title: 'A' }, { title: 'B' })['title']).toBe('B');
  });
});

test.describe('what is drawn', () => {
  test('each type has its field', () => {
    expect(kindOf({ type: 'string' })).toBe('text');
    expect(kindOf({ type: 'number' })).toBe('number');
    expect(kindOf({ type: 'boolean' })).toBe('boolean');
    expect(kindOf({ enum: ['a', 'b'] })).toBe('choice');
    expect(kindOf({ const: 1 })).toBe('const');
    expect(kindOf({ type: 'array', items: { type: 'string' } })).toBe('list');
    expect(kindOf({ type: 'object', additionalProperties: { type: 'string' } })).toBe('object');
    expect(kindOf({ oneOf: [{ const: 'a', title: 'A' }, { const: 'b' }] })).toBe('choice');
  });

  test('what has no form is JSON', () => {
    expect(kindOf({})).toBe('json');
    expect(kindOf({ type: 'object' })).toBe('json');
    expect(kindOf({ type: 'array' })).toBe('json');
    expect(kindOf({ type: ['object', 'array'] })).toBe('json');
    expect(draw({ type: 'string' }, {}, '', 7).shape.kind).toBe('json');
  });

  test('null is beside the type, however it is written', () => {
    for (const schema of [{ type: ['string', 'null'] }, { anyOf: [{ type: 'string' }, { type: 'null' }] }]) {
      expect(draw(schema, {})).toMatchObject({ isNullable: true, shape: { kind: 'text' } });
    }
    expect(draw({ enum: ['a', null] }, {})).toMatchObject({ isNullable: true, shape: { kind: 'choice', options: [{ value: 'a' }] } });
  });

  test('text is long where its name, format or length says so', () => {
    const isLong = (schema: JsonSchema, name = '') => {
      const { shape } = draw(schema, {}, name);
      return shape.kind === 'text' && shape.isLong;
    };
    expect(isLong({ type: 'string', format: 'textarea' })).toBe(true);
    expect(isLong({ type: 'string', maxLength: 10_000 })).toBe(true);
    expect(isLong({ type: 'string' }, 'description')).toBe(true);
    expect(isLong({ type: 'string', maxLength: 64 }, 'text')).toBe(false);
    expect(isLong({ type: 'string', format: 'email' }, 'text')).toBe(false);
  });

  test('bounds of whole numbers that are left out move by one', () => {
    expect(draw({ type: 'integer', minimum: 1, multipleOf: 5 }, {}).shape).toEqual({ kind: 'number', isInteger: true, minimum: 5, step: 5 });
    expect(draw({ type: 'integer', exclusiveMinimum: 0, maximum: 9 }, {}).shape).toEqual({ kind: 'number', isInteger: true, minimum: 1, maximum: 9, step: 1 });
    expect(draw({ type: 'number', multipleOf: 0.5 }, {}).shape).toEqual({ kind: 'number', isInteger: false, step: 0.5 });
  });

  test('a rule about which fields must be there is no choice', () => {
    const schema = { type: 'object', properties: { a: {}, b: {} }, anyOf: [{ required: ['a'] }, { required: ['b'] }] };
    expect(kindOf(schema)).toBe('object');
  });
});

test.describe('variants', () => {
  const of = variantsOf(datetime, datetime) ?? { discriminator: null, variants: [] };

  test('the field with one value in each tells them apart', () => {
    expect(of.discriminator).toBe('operation');
    expect(of.variants.map((variant) => variant.mark)).toEqual(['now', 'add']);
    expect(variantOf(of, { operation: 'add' })).toBe(1);
    expect(variantOf(of, { operation: 'gone' })).toBeNull();
    expect(variantOf(of, {})).toBeNull();
  });

  test('another variant keeps what it shares and what nobody knows', () => {
    const value = { operation: 'add', date: '2024-01-01', amount: 3, timezone: 'UTC', own: true };
    expect(switchVariant(of, value, 0, { operation: 'now' })).toEqual({ operation: 'now', timezone: 'UTC', own: true });
  });

  test('without such a field the value that fits best', () => {
    const plain = variantsOf({ anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'object', properties: { a: {} }, required: ['a'] }] }, {});
    if (plain === null) throw new Error('there are variants');
    expect(plain.discriminator).toBeNull();
    expect([undefined, 'x', 5, { a: 1 }].map((value) => variantOf(plain, value))).toEqual([0, 0, 1, 2]);
    expect(switchVariant(plain, 'x', 1, undefined)).toBeUndefined();
  });

  test('what is said of all holds in each', () => {
    const found = variantsOf({ type: 'object', properties: { id: { type: 'string' } }, oneOf: [{ properties: { k: { const: 1 } } }, { properties: { k: { const: 2 } } }] }, {});
    expect(found?.discriminator).toBe('k');
    expect(Object.keys(found?.variants[1]?.schema['properties'] ?? {})).toEqual(['id', 'k']);
  });
});

test.describe('where a form begins', () => {
  test('with what has no other choice', () => {
    expect(initialValue(datetime)).toEqual({ operation: 'now' });
    expect(initialValue({
      type: 'object', required: ['who', 'list', 'v', 'name'],
      properties: {
        who: { type: 'object', properties: { email: { type: 'string' } } }, list: { type: 'array', minItems: 2, items: { type: 'string' } },
        v: { const: 2 }, name: { type: 'string', default: 'x' }, other: { type: 'object', properties: { v: { const: 1 } } },
      },
    })).toEqual({ who: {}, list: ['', ''], v: 2 });
  });

  test('and ends where a schema holds itself', () => {
    const node: JsonSchema = { type: 'object', properties: { next: { $ref: '#' } }, required: ['next'] };
    expect(JSON.stringify(initialValue(node)).length).toBeLessThan(200);
    expect(blankOf({ type: 'integer' }, {})).toBeNull();
  });

  test('lists in lists begin with no more values than a form can hold', () => {
    const nested = (depth: number): JsonSchema => ({ type: 'array', minItems: 20, items: depth === 0 ? { type: 'string' } : nested(depth - 1) });
    const begun = initialValue({ type: 'object', required: ['grid'], properties: { grid: nested(5) } });
    const count = (value: unknown): number => (Array.isArray(value) ? value.reduce<number>((sum, item) => sum + count(item), 1) : 1);
    expect(count(begun['grid'])).toBeGreaterThan(20);
    expect(count(begun['grid'])).toBeLessThanOrEqual(MOST_VALUES);
  });
});

test('one is one, and more are several', () => {
  const said = (schema: JsonSchema) => limitsOf(draw(schema, schema), WORDS.en);
  expect(said({ type: 'array', minItems: 1, items: { type: 'string' } })).toBe('at least 1 item');
  expect(said({ type: 'array', minItems: 1, maxItems: 5, items: { type: 'string' } })).toBe('1 to 5 items');
  expect(said({ type: 'string', maxLength: 1 })).toBe('at most 1 character');
});

test('complaints stand at their field, or at the nearest one there is', () => {
  const errors = [
    { path: '(root)', message: 'is odd' }, { path: 'items.1.sku', message: 'is required' }, { path: 'who.nope', message: 'is not known' }, { path: 'items', message: 'too few' },
  ];
  expect(errorAt(errors, 'items')).toBe('too few');
  expect(errorAt(errors, 'items.1.sku')).toBe('is required');
  expect(errorAt(errors, 'item')).toBeUndefined();
  expect(isWrongWithin(errors, 'items.1')).toBe(true);
  expect(isWrongWithin(errors, 'items.0')).toBe(false);
  expect(errorsOfGroup(errors, '', ['items', 'who'])).toBe('is odd');
  expect(errorsOfGroup(errors, 'who', ['email'])).toBe('nope: is not known');
});

test('values change without touching the old one', () => {
  const before = { a: 1, b: 2 };
  expect(withField(before, 'a', undefined)).toEqual({ b: 2 });
  expect(before).toEqual({ a: 1, b: 2 });
  expect(moved(['a', 'b', 'c'], 2, 0)).toEqual(['c', 'a', 'b']);
  expect(moved(['a', 'b'], 1, 2)).toEqual(['a', 'b']);
  expect(moved([null, 1], 0, 1)).toEqual([1, null]);
  expect(objectOfRows([{ id: 0, name: 'a', value: 1 }, { id: 1, name: '', value: 2 }, { id: 2, name: 'a', value: 3 }])).toEqual({ a: 3 });
});

test('times go to the clock here and back', () => {
  const at = zonedTime('2024-03-20T09:30');
  expect(at).toMatch(/Z$/);
  expect(localTime(at ?? '')).toBe('2024-03-20T09:30');
  // While somebody types the year of a moment that is there.
  expect(localTime(zonedTime('0002-03-20T09:30') ?? '')).toBe('0002-03-20T09:30');
  expect(localTime('tomorrow')).toBeNull();
  expect(zonedTime('')).toBeUndefined();
});

test('names are readable, and said as they are where that differs', () => {
  expect(['maxResults', 'max_results', 'userID', 'HTTPServer', 'email'].map(readable)).toEqual(['Max results', 'Max results', 'User ID', 'HTTP server', 'Email']);
  expect(rawName('Email', 'email')).toBeUndefined();
  expect(rawName('Vat id', 'vatId')).toBe('vatId');
});
