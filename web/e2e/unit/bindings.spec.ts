// The tools of an agent as pure data: choosing, ordering, giving values, and the way to and from the API.
import { expect, test } from '@playwright/test';

import type { Schemas } from '@/api/client';
import { argumentsOf, unknownArgument, withoutArguments } from '@/features/agents/arguments';
import {
  add, type BoundList, change, decide, fromApi, give, modeOf, moveTo, namesOf, newBound, pathOf, remove, shift, toApi, unfinished,
} from '@/features/agents/bindings';
import { draftOf, faultAt, faultsOf, faultsOfTool, inputOf, isSame, newDraft, unfinishedFaults } from '@/features/agents/draft';

const three = (): BoundList => add([], ['a', 'b', 'c'].map((id) => ({ id, name: id })));
const order = (list: BoundList) => list.map((bound) => bound.toolId).join('');
const set = (...ids: string[]) => new Set(ids);

test('a tool is added once, at the end, and taken away by its id', () => {
  const list = change(three(), 'b', { isEnabled: false });
  const more = add(list, [{ id: 'b', name: 'b' }, { id: 'd', name: 'd' }]);
  expect(order(more)).toBe('abcd');
  expect(more[1]?.isEnabled).toBe(false);
  expect(order(remove(more, ['a', 'd', 'zz']))).toBe('bc');
});

test('tools are moved before or after another, several in their order', () => {
  expect(order(moveTo(three(), set('c'), 'a', 'before'))).toBe('cab');
  expect(order(moveTo(three(), set('a'), 'c', 'after'))).toBe('bca');
  expect(order(moveTo(three(), set('c', 'a'), 'b', 'after'))).toBe('bac');
  expect(order(moveTo(three(), set('a'), 'a', 'after'))).toBe('abc');
  expect(order(moveTo(three(), set('a'), 'gone', 'after'))).toBe('abc');
});

test('one place up or down stops at the ends', () => {
  expect(order(shift(three(), 'b', -1))).toBe('bac');
  expect(order(shift(three(), 'b', 1))).toBe('acb');
  expect(order(shift(three(), 'a', -1))).toBe('abc');
  expect(order(shift(three(), 'c', 1))).toBe('abc');
  expect(order(shift(three(), 'zz', 1))).toBe('abc');
});

test('an argument is the model’s, has a default, or is fixed; the value stays when the mode changes', () => {
  let bound = newBound('t', 't');
  expect(give(bound, 'x', 1)).toBe(bound);
  bound = decide(bound, 'x', 'default', 5);
  expect(bound.given).toEqual({ x: { mode: 'default', value: 5 } });
  bound = decide(give(bound, 'x', 7), 'x', 'fixed', 5);
  expect(bound.given).toEqual({ x: { mode: 'fixed', value: 7 } });
  expect(pathOf(bound, 'x')).toBe('toolConfig.$fixed.x');
  expect(namesOf(bound, 'fixed')).toEqual(['x']);
  bound = decide(bound, 'x', 'model');
  expect(modeOf(bound, 'x')).toBe('model');
  expect(bound.given).toEqual({});
});

test('what is empty or not JSON yet is not finished', () => {
  let bound = decide(decide(newBound('t', 't'), 'x', 'fixed'), 'y', 'default', false);
  expect(unfinished(bound)).toEqual(['x']);
  bound = give(bound, 'x', undefined, '{"a":');
  expect(unfinished(bound)).toEqual(['x']);
  bound = give(bound, 'x', { a: 1 });
  expect(unfinished(bound)).toEqual([]);
  expect(unfinished(decide(newBound('t', 't'), 'n', 'fixed', null))).toEqual([]);
});

const toolConfig: Record<string, unknown> = { maxResults: 10, $fixed: { provider: 'brave' } };
const stored: Schemas['Binding'] = {
  toolId: 'web_search', pinnedVersion: 2, policy: 'ask', askWhen: 'count > 3', sortOrder: 4, isEnabled: false,
  toolConfig: toolConfig as Schemas['Binding']['toolConfig'],
  overrides: { timeout: 5000, async: null },
};

test('a binding comes from the API and goes back as it was', () => {
  const bound = fromApi(stored, 'web_search');
  expect(bound.given).toEqual({ maxResults: { mode: 'default', value: 10 }, provider: { mode: 'fixed', value: 'brave' } });
  expect(toApi([newBound('a', 'a'), bound])[1]).toEqual({
    toolId: 'web_search', pinnedVersion: 2, policy: 'ask', askWhen: 'count > 3', sortOrder: 1, isEnabled: false,
    toolConfig: { maxResults: 10, $fixed: { provider: 'brave' } }, overrides: { timeout: 5000 },
  });
  expect(toApi([newBound('a', 'a')])[0]?.toolConfig).toEqual({});
});

test('names that mean something to the language are arguments like others', () => {
  const bound = decide(decide(newBound('t', 't'), '__proto__', 'fixed', 1), 'constructor', 'default', 2);
  expect(Object.keys(bound.given)).toEqual(['__proto__', 'constructor']);
  expect(JSON.stringify(toApi([bound])[0]?.toolConfig)).toBe('{"constructor":2,"$fixed":{"__proto__":1}}');
  expect(modeOf(newBound('t', 't'), 'constructor')).toBe('model');
});

test('arguments are read from a plain schema', () => {
  const list = argumentsOf({
    type: 'object', required: ['query'], additionalProperties: false, $defs: { count: { type: 'integer', minimum: 1, maximum: 9 } },
    properties: {
      query: { type: 'string', description: 'What.' }, count: { $ref: '#/$defs/count', default: 3 }, unit: { enum: ['a', 'b'] },
      flag: { type: ['boolean', 'null'] }, shape: { type: 'object' }, either: { type: ['string', 'integer'] },
    },
  });
  expect(list.isOpen).toBe(false);
  expect(list.arguments.map((one) => [one.name, one.kind, one.isRequired])).toEqual([
    ['query', 'text', true], ['count', 'integer', false], ['unit', 'choice', false], ['flag', 'boolean', false],
    ['shape', 'json', false], ['either', 'json', false],
  ]);
  expect(list.arguments[1]).toMatchObject({ initial: 3, minimum: 1, maximum: 9 });
  expect(list.arguments[2]?.options).toEqual(['a', 'b']);
});

const forms = {
  type: 'object',
  oneOf: [
    { properties: { operation: { const: 'now' }, zone: { type: 'string' } }, required: ['operation'] },
    { properties: { operation: { const: 'add' }, amount: { type: 'integer', minimum: 0 } }, required: ['operation', 'amount'] },
  ],
};

test('arguments of all forms of a tool are found, and required where every form asks for them', () => {
  const found = argumentsOf(forms).arguments;
  expect(found.map((one) => one.name)).toEqual(['operation', 'zone', 'amount']);
  expect(found[0]).toMatchObject({ kind: 'choice', options: ['now', 'add'], isRequired: true });
  expect(found[2]?.isRequired).toBe(false);
  expect(argumentsOf({ additionalProperties: { type: 'string' } }).isOpen).toBe(true);
  expect(argumentsOf({ allOf: [{ $ref: '#' }, { $ref: '#/allOf/0' }] }).arguments).toEqual([]);
  expect(unknownArgument('old')).toMatchObject({ kind: 'json', isUnknown: true });
});

test('the model does not see what is fixed, in no form', () => {
  expect(withoutArguments(forms, ['operation'])).toEqual({
    type: 'object',
    oneOf: [
      { properties: { zone: { type: 'string' } }, required: [] },
      { properties: { amount: { type: 'integer', minimum: 0 } }, required: ['amount'] },
    ],
  });
  expect(forms.oneOf[0]?.required).toEqual(['operation']);
});

test('an agent comes from the API and goes back whole, in its order', () => {
  const config = { ...newDraft().config, maxSteps: 8, maxCalls: 128, maxSeconds: 1800, maxTotalTokens: 2_000_000 };
  const agent: Schemas['Agent'] = {
    id: '1', spaceId: '1', ownerId: null, name: 'guide', category: null, description: 'd', systemPrompt: 'p', isActive: true,
    locale: null, config, toolIds: ['calculator', 'web_search'], createdAt: '', updatedAt: '', version: 3,
    bindings: [stored, { toolId: 'calculator', sortOrder: 1, toolConfig: {}, overrides: {}, isEnabled: true }],
  };
  const draft = draftOf(agent, new Map([['calculator', 'calculator']]));
  expect(draft.tools.map((tool) => [tool.toolId, tool.name])).toEqual([['calculator', 'calculator'], ['web_search', null]]);
  const input = inputOf({ ...draft, name: ' guide ', category: ' ', config: { ...draft.config, model: '', maxSteps: undefined } });
  expect(input).toMatchObject({ name: 'guide', category: null, config: { model: null, maxSteps: 16 } });
  expect(input.bindings?.map((binding) => binding.toolId)).toEqual(['calculator', 'web_search']);
  expect(isSame(draft, draftOf(agent, new Map([['calculator', 'calculator']])))).toBe(true);
  expect(isSame(draft, { ...draft, tools: shift(draft.tools, 'calculator', 1) })).toBe(false);
});

test('what is wrong is told at the tool it belongs to, wherever that was moved', () => {
  const faults = faultsOf(
    [
      { path: 'name', message: 'taken' },
      { path: 'bindings.1.toolConfig.$fixed.x', message: 'no such argument' },
      { path: 'bindings.1.overrides.timeout', message: 'too small' },
      { path: 'bindings.7.toolId', message: 'nowhere' },
    ],
    three(),
  );
  expect(faultAt(faults, 'name')).toBe('taken');
  expect(faultsOfTool(faults, 'b')).toEqual({ 'toolConfig.$fixed.x': 'no such argument', 'overrides.timeout': 'too small' });
  expect(faultAt(faultsOfTool(faults, 'b'), 'toolConfig')).toBe('no such argument');
  expect(faults['bindings.7.toolId']).toBe('nowhere');
  const begun = { ...newDraft(), tools: [decide(newBound('a', 'a'), 'x', 'fixed')] };
  expect(unfinishedFaults(begun, 'missing')).toEqual({ 'bindings.a.toolConfig.$fixed.x': 'missing' });
});
