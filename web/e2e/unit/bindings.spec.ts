// Tool bindings of an agent as pure data: selection, order, values, and conversion from and to the API.
import { expect, test } from '@playwright/test';

import type { Schemas } from '@/api/client';
import { argumentsOf, unknownArgument, withoutArguments } from '@/features/agents/arguments';
import {
  add, type BindingDraftList, change, setMode, fromApi, setValue, modeOf, moveTo, namesOf, newBinding, pathOf, remove, moveBy, toApi, incompleteArguments,
} from '@/features/agents/bindings';
import { draftOf, faultAt, faultsOf, faultsOfTool, incompleteFaults, inputOf, isSame, newDraft } from '@/features/agents/draft';

const three = (): BindingDraftList => add([], ['a', 'b', 'c'].map((id) => ({ id, name: id })));
const order = (list: BindingDraftList) => list.map((binding) => binding.toolId).join('');
const set = (...ids: string[]) => new Set(ids);

test('a tool is added once, at the end, and removed by its id', () => {
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

test('moving one position up or down stops at the ends', () => {
  expect(order(moveBy(three(), 'b', -1))).toBe('bac');
  expect(order(moveBy(three(), 'b', 1))).toBe('acb');
  expect(order(moveBy(three(), 'a', -1))).toBe('abc');
  expect(order(moveBy(three(), 'c', 1))).toBe('abc');
  expect(order(moveBy(three(), 'zz', 1))).toBe('abc');
});

test('an argument is free, has a default, or is fixed, and keeps its value when the mode changes', () => {
  let binding = newBinding('t', 't');
  expect(setValue(binding, 'x', 1)).toBe(binding);
  binding = setMode(binding, 'x', 'default', 5);
  expect(binding.values).toEqual({ x: { mode: 'default', value: 5 } });
  binding = setMode(setValue(binding, 'x', 7), 'x', 'fixed', 5);
  expect(binding.values).toEqual({ x: { mode: 'fixed', value: 7 } });
  expect(pathOf(binding, 'x')).toBe('toolConfig.$fixed.x');
  expect(namesOf(binding, 'fixed')).toEqual(['x']);
  binding = setMode(binding, 'x', 'model');
  expect(modeOf(binding, 'x')).toBe('model');
  expect(binding.values).toEqual({});
});

test('an empty value or invalid JSON is incomplete', () => {
  let binding = setMode(setMode(newBinding('t', 't'), 'x', 'fixed'), 'y', 'default', false);
  expect(incompleteArguments(binding)).toEqual(['x']);
  binding = setValue(binding, 'x', undefined, '{"a":');
  expect(incompleteArguments(binding)).toEqual(['x']);
  binding = setValue(binding, 'x', { a: 1 });
  expect(incompleteArguments(binding)).toEqual([]);
  expect(incompleteArguments(setMode(newBinding('t', 't'), 'n', 'fixed', null))).toEqual([]);
});

const toolConfig: Record<string, unknown> = { maxResults: 10, $fixed: { provider: 'brave' } };
const stored: Schemas['Binding'] = {
  toolId: 'web_search', pinnedVersion: 2, policy: 'ask', askWhen: 'count > 3', sortOrder: 4, isEnabled: false,
  toolConfig: toolConfig as Schemas['Binding']['toolConfig'],
  overrides: { timeout: 5000, async: null },
};

test('a binding is unchanged after a round trip', () => {
  const binding = fromApi(stored, 'web_search');
  expect(binding.values).toEqual({ maxResults: { mode: 'default', value: 10 }, provider: { mode: 'fixed', value: 'brave' } });
  expect(toApi([newBinding('a', 'a'), binding])[1]).toEqual({
    toolId: 'web_search', pinnedVersion: 2, policy: 'ask', askWhen: 'count > 3', sortOrder: 1, isEnabled: false,
    toolConfig: { maxResults: 10, $fixed: { provider: 'brave' } }, overrides: { timeout: 5000 },
  });
  expect(toApi([newBinding('a', 'a')])[0]?.toolConfig).toEqual({});
});

test('property names of the language are ordinary arguments', () => {
  const binding = setMode(setMode(newBinding('t', 't'), '__proto__', 'fixed', 1), 'constructor', 'default', 2);
  expect(Object.keys(binding.values)).toEqual(['__proto__', 'constructor']);
  expect(JSON.stringify(toApi([binding])[0]?.toolConfig)).toBe('{"constructor":2,"$fixed":{"__proto__":1}}');
  expect(modeOf(newBinding('t', 't'), 'constructor')).toBe('model');
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

test('arguments of all variants are found, and required if all variants require them', () => {
  const found = argumentsOf(forms).arguments;
  expect(found.map((one) => one.name)).toEqual(['operation', 'zone', 'amount']);
  expect(found[0]).toMatchObject({ kind: 'choice', options: ['now', 'add'], isRequired: true });
  expect(found[2]?.isRequired).toBe(false);
  expect(argumentsOf({ additionalProperties: { type: 'string' } }).isOpen).toBe(true);
  expect(argumentsOf({ allOf: [{ $ref: '#' }, { $ref: '#/allOf/0' }] }).arguments).toEqual([]);
  expect(unknownArgument('old')).toMatchObject({ kind: 'json', isUnknown: true });
});

test('fixed arguments are hidden from the model in every variant', () => {
  expect(withoutArguments(forms, ['operation'])).toEqual({
    type: 'object',
    oneOf: [
      { properties: { zone: { type: 'string' } }, required: [] },
      { properties: { amount: { type: 'integer', minimum: 0 } }, required: ['amount'] },
    ],
  });
  expect(forms.oneOf[0]?.required).toEqual(['operation']);
});

test('an agent is unchanged after a round trip, in its order', () => {
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
  expect(isSame(draft, { ...draft, tools: moveBy(draft.tools, 'calculator', 1) })).toBe(false);
});

test('an error belongs to its tool, also after the tool was moved', () => {
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
  const begun = { ...newDraft(), tools: [setMode(newBinding('a', 'a'), 'x', 'fixed')] };
  expect(incompleteFaults(begun, 'missing')).toEqual({ 'bindings.a.toolConfig.$fixed.x': 'missing' });
});
