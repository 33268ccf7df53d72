// A definition goes through the form and comes out as it was; what is changed is written where it belongs.
import { expect, test } from '@playwright/test';

import { addArgument, argumentsOf, changeArgument, removeArgument, renameArgument } from '../../src/features/tools/edit/arguments';
import { type Definition, isGenerated, NEW_TOOL } from '../../src/features/tools/edit/definition';
import { brokenJson, definitionFrom, type Draft, draftOf } from '../../src/features/tools/edit/draft';
import { previewOf } from '../../src/features/tools/edit/preview';
import { asBodyType } from '../../src/features/tools/edit/request';
import { newRow } from '../../src/features/tools/edit/rows';
import { secretsOf, variablesOf } from '../../src/features/tools/edit/variables';
import { isUntouched, placeOf } from '../../src/features/tools/edit/violations';

const WEATHER: Definition = {
  name: 'weather', description: 'Forecast of a city.', type: 'http', title: { en: 'Weather', zh: '天气' }, icon: 'cloud', category: null,
  timeout: 10_000, totalTimeout: 120_000, retryCount: null, rateLimit: { perMinute: 60, burst: null }, isActive: true, priority: 3,
  config: {
    url: 'https://api.example.com/forecast/{{city}}?lang={{user.lang}}', method: 'GET',
    params: { days: '{{days}}', units: 'metric', n: 5, list: [1, 2] },
    headers: { 'X-Key': 'secret://weather_key', 'X-Trace': '{{callId}}', 'X-N': 1 }, cookies: { a: 'b' },
    auth: { type: 'bearer', token: 'secret://me/own', somethingNew: true },
    redact: ['users.*.email', { pattern: 'phone' }, { pattern: 'a+' }],
    security: { allowedDomains: ['api.example.com'], maxResponseSize: 100_000, timeout: 10_000 },
    brackets: ['*'], sendDefaults: false, imported: { from: 'curl' }, unheardOf: { deep: [1] },
  },
  inputSchema: { type: 'object', properties: { city: { type: 'string', minLength: 1 } }, required: ['city'] },
};

const post = (config: Record<string, unknown>): Definition => ({ name: 'n', description: 'd', type: 'http', config: { url: 'https://a.example/', method: 'POST', ...config } });

const UNCHANGED: Record<string, Definition> = {
  'everything at once': WEATHER,
  'a new tool': NEW_TOOL,
  'a body in params': post({ params: { a: '{{b}}', deep: { c: [1, null] } } }),
  'query and body': post({ query: { a: 1 }, body: [1, 2], bodyType: 'json' }),
  'empty objects': post({ query: {}, body: {}, headers: {} }),
  'a form': post({ body: { a: '1', b: 2 }, bodyType: 'form' }),
  'a form that is text': post({ body: 'a=1', bodyType: 'form' }),
  'a file': post({ body: { base64: 'AAAA' }, bodyType: 'binary' }),
  'one that is asked again': post({ poll: { url: '/jobs/{{id}}', status: 'a.b', done: ['ok, then'], failed: 'left = 0', result: 'x', progress: 'p', interval: 0.5, timeout: 60 } }),
  'one that is asked again, and no more said': post({ poll: {} }),
  'one that calls back': post({ body: { notify: '{{ callbackUrl }}' } }),
  'one that calls back, and more said': post({ body: { notify: '{{callbackUrl}}' }, callback: { status: 's', timeout: 60 } }),
  'auth as a word': post({ auth: 'none' }),
  'auth of another kind': post({ auth: { type: 'madeUp', a: 1 } }),
  'an alias and a small method': { name: 'n', description: 'd', config: { endpoint: 'https://a.example/', method: 'post' } },
  'the generic form': { name: 'n', description: 'd', type: 'http', config: { baseUrl: 'https://a.example' } },
};

for (const [name, definition] of Object.entries(UNCHANGED)) {
  test(`comes out as it went in: ${name}`, () => {
    expect(definitionFrom(definition, draftOf(definition))).toEqual(definition);
  });
}

function changed(definition: Definition, change: (draft: Draft) => Partial<Draft>): Definition {
  const draft = draftOf(definition);
  return definitionFrom(definition, { ...draft, ...change(draft) });
}

test('a changed part leaves the rest alone', () => {
  const next = changed(WEATHER, ({ about }) => ({ about: { ...about, name: 'forecast' } }));
  expect(next).toEqual({ ...WEATHER, name: 'forecast' });
});

test('a header is added beside those that are there', () => {
  const next = changed(WEATHER, ({ headers: { rows } }) => ({ headers: { rows: [...rows, { ...newRow(rows), key: 'X-New', value: '1' }, newRow(rows)] } }));
  expect(next['config']).toEqual({ ...(WEATHER['config'] as object), headers: { 'X-Key': 'secret://weather_key', 'X-Trace': '{{callId}}', 'X-N': 1, 'X-New': '1' } });
});

test('params become the query when the method no longer takes them for it', () => {
  const next = changed(WEATHER, ({ request }) => ({ request: { ...request, method: 'POST' } }));
  expect(next['config']).toMatchObject({ method: 'POST', query: { days: '{{days}}', units: 'metric', n: 5, list: [1, 2] }, unheardOf: { deep: [1] } });
  expect(next['config']).not.toHaveProperty('params');
});

test('params stay params where they mean the same', () => {
  const next = changed(WEATHER, ({ request }) => ({ request: { ...request, url: 'https://b.example/' } }));
  expect(next['config']).toMatchObject({ params: { days: '{{days}}' }, url: 'https://b.example/' });
  expect(next['config']).not.toHaveProperty('query');
});

test('a time limit stands in one place when it is changed', () => {
  const next = changed(WEATHER, ({ limits }) => ({ limits: { ...limits, timeout: 20_000 } }));
  expect(next['timeout']).toBe(20_000);
  expect(next['config']).toHaveProperty('security', { allowedDomains: ['api.example.com'], maxResponseSize: 100_000 });
});

test('limits that are emptied are left to the defaults', () => {
  const next = changed(WEATHER, ({ limits }) => ({ limits: { ...limits, perMinute: undefined, allowedDomains: '' } }));
  expect(next).not.toHaveProperty('rateLimit');
  expect(next['config']).toHaveProperty('security', { maxResponseSize: 100_000, timeout: 10_000 });
});

test('redaction is written as paths and patterns', () => {
  const next = changed(WEATHER, ({ answer }) => ({ answer: { ...answer, paths: 'a.b\n\n c ', presets: ['email'] } }));
  expect(next['config']).toHaveProperty('redact', ['a.b', 'c', { pattern: 'email' }, { pattern: 'a+' }]);
});

test('an api key goes into a header unless it is told otherwise', () => {
  const next = changed(NEW_TOOL, () => ({ auth: { type: 'apiKey', fields: { name: 'X-Key', value: 'secret://k' } } }));
  expect(next['config']).toEqual({ auth: { type: 'apiKey', in: 'header', name: 'X-Key', value: 'secret://k' } });
});

test('a body keeps what it says when its type changes', () => {
  const { request } = draftOf(post({ body: { a: '1' } }));
  const form = asBodyType(request, 'form');
  expect(form.bodyRows.map(({ key, value }) => [key, value])).toEqual([['a', '1']]);
  expect(JSON.parse(asBodyType(form, 'json').bodyText)).toEqual({ a: '1' });
});

test('text that should be JSON and is not is named', () => {
  const draft = draftOf(post({ body: { a: 1 } }));
  const broken = { ...draft, request: { ...draft.request, bodyText: '{"a": {{n}}}' }, schema: { isOwn: true, text: '[]' } };
  expect(brokenJson(broken)).toEqual(['config.body', 'inputSchema']);
});

test('a schema that only names variables is known as made', () => {
  expect(isGenerated({ type: 'object', properties: { a: { type: 'string', description: 'Parameter: a' } }, required: ['a'], additionalProperties: false })).toBe(true);
  expect(isGenerated({ type: 'object', properties: { a: { type: 'integer' } }, additionalProperties: false })).toBe(false);
  expect(isGenerated(WEATHER['inputSchema'])).toBe(false);
});

test('variables and secrets are found wherever they stand', () => {
  expect(variablesOf(WEATHER).map(({ name, isGiven }) => [name, isGiven])).toEqual([['city', false], ['user', false], ['days', false], ['callId', true]]);
  expect(secretsOf(WEATHER)).toEqual([
    { name: 'weather_key', places: ['headers'], isOwn: false },
    { name: 'own', places: ['auth'], isOwn: true },
  ]);
});

test('the request is shown with its variables and without its credentials', () => {
  const preview = previewOf({ ...WEATHER, config: { ...(WEATHER['config'] as object), headers: { 'X-Api-Key': 'letmein' } } }, undefined);
  expect(preview.url).toBe('https://api.example.com/forecast/{{city}}?lang={{user.lang}}&days={{days}}&units=metric&n=5&list=1&list=2');
  expect(preview.headers).toEqual([['X-Api-Key', '••••••••'], ['Authorization', 'Bearer secret://me/own']]);
});

test('arguments that nothing takes are shown where they go', () => {
  const schema = { properties: { city: {}, unit: {} } };
  expect(previewOf({ config: { url: 'https://a.example/{{city}}' } }, schema).url).toBe('https://a.example/{{city}}?unit={{unit}}');
  expect(previewOf(post({}), schema).body).toBe('{\n  "city": "{{city}}",\n  "unit": "{{unit}}"\n}');
});

test('arguments are added, renamed, changed and removed in place', () => {
  let schema = addArgument({ type: 'object', properties: { a: { type: 'integer', minimum: 1 } }, required: ['a'], title: 'kept' });
  schema = renameArgument(schema, 'a', 'count');
  schema = changeArgument(schema, 'count', { fallback: '5', description: 'How many' });
  schema = changeArgument(schema, 'argument', { isRequired: true });
  expect(schema).toEqual({
    type: 'object', title: 'kept', required: ['count', 'argument'],
    properties: { count: { type: 'integer', minimum: 1, default: 5, description: 'How many' }, argument: { type: 'string' } },
  });
  expect(argumentsOf(removeArgument(schema, 'count'))).toEqual([{ name: 'argument', type: 'string', description: '', isRequired: true, fallback: '' }]);
});

test('what is wrong is sorted to its place', () => {
  expect(placeOf('config.headers.X-A', WEATHER)).toBe('headers');
  expect(placeOf('config.params.a', WEATHER)).toBe('params');
  expect(placeOf('config.params.a', post({}))).toBe('body');
  expect(placeOf('config.security.maxResponseSize', WEATHER)).toBe('answer');
  expect(placeOf('rateLimit.perMinute', WEATHER)).toBe('limits');
  for (const path of ['effect', 'policy', 'askWhen', 'config.security.allowedDomains.0']) expect(placeOf(path, WEATHER)).toBe('safety');
  expect(placeOf('config.security.timeout', WEATHER)).toBe('limits');
  expect(placeOf('config.imported', WEATHER)).toBeUndefined();
  expect(isUntouched(NEW_TOOL, 'name')).toBe(true);
  expect(isUntouched(WEATHER, 'config.redact.0')).toBe(false);
});

test('how an answer comes is written where it belongs, and only what was changed', () => {
  const asked = post({ poll: { status: 's', done: ['odd, word'], failed: 'left = 0', interval: 2 } });
  const next = changed(asked, ({ later }) => ({ later: { ...later, status: 'standing', failed: { isCondition: false, text: 'broken，gone, ' } } }));
  expect(next).toEqual(post({ poll: { status: 'standing', done: ['odd, word'], failed: ['broken', 'gone'], interval: 2 } }));
  expect(changed(asked, ({ later }) => ({ later: { ...later, way: 'once' } }))).toEqual(post({}));
  // The other way has no address and no pause, and what is not sent is refused by who knows.
  expect(changed(asked, ({ later }) => ({ later: { ...later, way: 'callback', done: { isCondition: true, text: 'x > 1' } } })))
    .toEqual(post({ callback: { status: 's', done: 'x > 1', failed: 'left = 0' } }));
});

test('a request that holds the address to call back says enough by itself', () => {
  const held = { body: { notify: '{{callbackUrl}}' } };
  const chosen = changed(post({}), ({ request, later }) => ({
    request: { ...request, bodyText: JSON.stringify(held.body) }, later: { ...later, way: 'callback' },
  }));
  expect(chosen).toEqual(post(held));
  expect(draftOf(chosen).later.way).toBe('callback');
  expect(changed(post({}), ({ later }) => ({ later: { ...later, way: 'callback' } }))).toEqual(post({ callback: {} }));
  expect(placeOf('config.poll.done', chosen)).toBe('answer');
});
