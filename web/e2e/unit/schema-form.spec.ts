// The logic of schema forms, without a browser.
import { expect, test } from '@playwright/test';

import { errorAt, errorsOfGroup, hasErrorWithin } from '@/components/schema-form/errors';
import { blankOf, initialValue, MAX_VALUES } from '@/components/schema-form/initial';
import { humanize, rawName } from '@/components/schema-form/label';
import { limitsOf } from '@/components/schema-form/limits';
import { merge, resolve } from '@/components/schema-form/resolve';
import type { JsonSchema } from '@/components/schema-form/schema';
import { parseField } from '@/components/schema-form/shape';
import { TEXTS } from '@/components/schema-form/texts';
import { localTime, moved, objectOfRows, withField, zonedTime } from '@/components/schema-form/value';
import { switchVariant, variantOf, variantsOf } from '@/components/schema-form/variants';

const kindOf = (schema: JsonSchema, name = '') => parseField(schema, schema, name).shape.kind;

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

  test('references are resolved and merged with their siblings', () => {
    expect(resolve({ $ref: '#/$defs/city', title: 'Town', minLength: 3 }, root)).toEqual({ type: 'string', minLength: 3, title: 'Town' });
    expect(resolve({ $ref: '#/$defs/a~1b' }, root)).toEqual({ type: 'integer' });
    expect(resolve({ $ref: '#here' }, root)['type']).toBe('boolean');
  });

  test('circular and broken references accept any value', () => {
    expect(kindOf({ ...root, $ref: '#/$defs/loop' })).toBe('json');
    expect(resolve({ $ref: '#/nowhere' }, root)).toEqual({});
  });

  test('allOf combines all schemas with the narrowest bounds', () => {
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

test.describe('parsed fields', () => {
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

  test('a schema without a field is edited as JSON', () => {
    expect(kindOf({})).toBe('json');
    expect(kindOf({ type: 'object' })).toBe('json');
    expect(kindOf({ type: 'array' })).toBe('json');
    expect(kindOf({ type: ['object', 'array'] })).toBe('json');
    expect(parseField({ type: 'string' }, {}, '', 7).shape.kind).toBe('json');
  });

  test('null is an option beside the type, in every notation', () => {
    for (const schema of [{ type: ['string', 'null'] }, { anyOf: [{ type: 'string' }, { type: 'null' }] }]) {
      expect(parseField(schema, {})).toMatchObject({ isNullable: true, shape: { kind: 'text' } });
    }
    expect(parseField({ enum: ['a', null] }, {})).toMatchObject({ isNullable: true, shape: { kind: 'choice', options: [{ value: 'a' }] } });
  });

  test('a text field is multiline by name, format or length', () => {
    const isLong = (schema: JsonSchema, name = '') => {
      const { shape } = parseField(schema, {}, name);
      return shape.kind === 'text' && shape.isLong;
    };
    expect(isLong({ type: 'string', format: 'textarea' })).toBe(true);
    expect(isLong({ type: 'string', maxLength: 10_000 })).toBe(true);
    expect(isLong({ type: 'string' }, 'description')).toBe(true);
    expect(isLong({ type: 'string', maxLength: 64 }, 'text')).toBe(false);
    expect(isLong({ type: 'string', format: 'email' }, 'text')).toBe(false);
  });

  test('exclusive integer bounds are shifted by one', () => {
    expect(parseField({ type: 'integer', minimum: 1, multipleOf: 5 }, {}).shape).toEqual({ kind: 'number', isInteger: true, minimum: 5, step: 5 });
    expect(parseField({ type: 'integer', exclusiveMinimum: 0, maximum: 9 }, {}).shape).toEqual({ kind: 'number', isInteger: true, minimum: 1, maximum: 9, step: 1 });
    expect(parseField({ type: 'number', multipleOf: 0.5 }, {}).shape).toEqual({ kind: 'number', isInteger: false, step: 0.5 });
  });

  test('a rule about required fields is not a variant', () => {
    const schema = { type: 'object', properties: { a: {}, b: {} }, anyOf: [{ required: ['a'] }, { required: ['b'] }] };
    expect(kindOf(schema)).toBe('object');
  });
});

test.describe('variants', () => {
  const of = variantsOf(datetime, datetime) ?? { discriminator: null, variants: [] };

  test('a constant field distinguishes the variants', () => {
    expect(of.discriminator).toBe('operation');
    expect(of.variants.map((variant) => variant.constant)).toEqual(['now', 'add']);
    expect(variantOf(of, { operation: 'add' })).toBe(1);
    expect(variantOf(of, { operation: 'gone' })).toBeNull();
    expect(variantOf(of, {})).toBeNull();
  });

  test('switching the variant keeps shared and unknown fields', () => {
    const value = { operation: 'add', date: '2024-01-01', amount: 3, timezone: 'UTC', own: true };
    expect(switchVariant(of, value, 0, { operation: 'now' })).toEqual({ operation: 'now', timezone: 'UTC', own: true });
  });

  test('without a constant field the best matching variant is chosen', () => {
    const plain = variantsOf({ anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'object', properties: { a: {} }, required: ['a'] }] }, {});
    if (plain === null) throw new Error('there are variants');
    expect(plain.discriminator).toBeNull();
    expect([undefined, 'x', 5, { a: 1 }].map((value) => variantOf(plain, value))).toEqual([0, 0, 1, 2]);
    expect(switchVariant(plain, 'x', 1, undefined)).toBeUndefined();
  });

  test('shared properties apply to each variant', () => {
    const found = variantsOf({ type: 'object', properties: { id: { type: 'string' } }, oneOf: [{ properties: { k: { const: 1 } } }, { properties: { k: { const: 2 } } }] }, {});
    expect(found?.discriminator).toBe('k');
    expect(Object.keys(found?.variants[1]?.schema['properties'] ?? {})).toEqual(['id', 'k']);
  });
});

test.describe('initial values', () => {
  test('required fields get their only possible value', () => {
    expect(initialValue(datetime)).toEqual({ operation: 'now' });
    expect(initialValue({
      type: 'object', required: ['who', 'list', 'v', 'name'],
      properties: {
        who: { type: 'object', properties: { email: { type: 'string' } } }, list: { type: 'array', minItems: 2, items: { type: 'string' } },
        v: { const: 2 }, name: { type: 'string', default: 'x' }, other: { type: 'object', properties: { v: { const: 1 } } },
      },
    })).toEqual({ who: {}, list: ['', ''], v: 2 });
  });

  test('recursive schemas have an end', () => {
    const node: JsonSchema = { type: 'object', properties: { next: { $ref: '#' } }, required: ['next'] };
    expect(JSON.stringify(initialValue(node)).length).toBeLessThan(200);
    expect(blankOf({ type: 'integer' }, {})).toBeNull();
  });

  test('nested lists start with a bounded number of values', () => {
    const nested = (depth: number): JsonSchema => ({ type: 'array', minItems: 20, items: depth === 0 ? { type: 'string' } : nested(depth - 1) });
    const begun = initialValue({ type: 'object', required: ['grid'], properties: { grid: nested(5) } });
    const count = (value: unknown): number => (Array.isArray(value) ? value.reduce<number>((sum, item) => sum + count(item), 1) : 1);
    expect(count(begun['grid'])).toBeGreaterThan(20);
    expect(count(begun['grid'])).toBeLessThanOrEqual(MAX_VALUES);
  });
});

test('limits have singular and plural', () => {
  const said = (schema: JsonSchema) => limitsOf(parseField(schema, schema), TEXTS.en);
  expect(said({ type: 'array', minItems: 1, items: { type: 'string' } })).toBe('at least 1 item');
  expect(said({ type: 'array', minItems: 1, maxItems: 5, items: { type: 'string' } })).toBe('1 to 5 items');
  expect(said({ type: 'string', maxLength: 1 })).toBe('at most 1 character');
});

test('violations are shown at their field, or at the nearest one', () => {
  const errors = [
    { path: '(root)', message: 'is odd' }, { path: 'items.1.sku', message: 'is required' }, { path: 'who.nope', message: 'is not known' }, { path: 'items', message: 'too few' },
  ];
  expect(errorAt(errors, 'items')).toBe('too few');
  expect(errorAt(errors, 'items.1.sku')).toBe('is required');
  expect(errorAt(errors, 'item')).toBeUndefined();
  expect(hasErrorWithin(errors, 'items.1')).toBe(true);
  expect(hasErrorWithin(errors, 'items.0')).toBe(false);
  expect(errorsOfGroup(errors, '', ['items', 'who'])).toBe('is odd');
  expect(errorsOfGroup(errors, 'who', ['email'])).toBe('nope: is not known');
});

test('changed values do not mutate the old ones', () => {
  const before = { a: 1, b: 2 };
  expect(withField(before, 'a', undefined)).toEqual({ b: 2 });
  expect(before).toEqual({ a: 1, b: 2 });
  expect(moved(['a', 'b', 'c'], 2, 0)).toEqual(['c', 'a', 'b']);
  expect(moved(['a', 'b'], 1, 2)).toEqual(['a', 'b']);
  expect(moved([null, 1], 0, 1)).toEqual([1, null]);
  expect(objectOfRows([{ id: 0, name: 'a', value: 1 }, { id: 1, name: '', value: 2 }, { id: 2, name: 'a', value: 3 }])).toEqual({ a: 3 });
});

test('times are converted to local time and back', () => {
  const at = zonedTime('2024-03-20T09:30');
  expect(at).toMatch(/Z$/);
  expect(localTime(at ?? '')).toBe('2024-03-20T09:30');
  // While the year of an existing date is being typed.
  expect(localTime(zonedTime('0002-03-20T09:30') ?? '')).toBe('0002-03-20T09:30');
  expect(localTime('tomorrow')).toBeNull();
  expect(zonedTime('')).toBeUndefined();
});

test('labels are derived from names, and raw names are shown where they differ', () => {
  expect(['maxResults', 'max_results', 'userID', 'HTTPServer', 'email'].map(humanize)).toEqual(['Max results', 'Max results', 'User ID', 'HTTP server', 'Email']);
  expect(rawName('Email', 'email')).toBeUndefined();
  expect(rawName('Vat id', 'vatId')).toBe('vatId');
});
