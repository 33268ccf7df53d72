// Tool drafts: a definition is unchanged after a round trip through the form; changes are written to the
// right fields.
import { expect, test } from '@playwright/test';

import { addArgument, argumentsOf, changeArgument, removeArgument, renameArgument } from '../../src/features/tools/edit/arguments';
import { type Definition, isGenerated, NEW_TOOL } from '../../src/features/tools/edit/definition';
import { brokenJson, definitionFrom, type Draft, draftOf } from '../../src/features/tools/edit/draft';
import { previewOf } from '../../src/features/tools/edit/preview';
import { asBodyType } from '../../src/features/tools/edit/request';
import { newRow } from '../../src/features/tools/edit/rows';
import { secretsOf, variablesOf } from '../../src/features/tools/edit/variables';
import { isUntouched, tabOf } from '../../src/features/tools/edit/violations';

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
  'a polled tool': post({ poll: { url: '/jobs/{{id}}', status: 'a.b', done: ['ok, then'], failed: 'left = 0', result: 'x', progress: 'p', interval: 0.5, timeout: 60 } }),
  'a polled tool with defaults': post({ poll: {} }),
  'a callback tool': post({ body: { notify: '{{ callbackUrl }}' } }),
  'a callback tool with rules': post({ body: { notify: '{{callbackUrl}}' }, callback: { status: 's', timeout: 60 } }),
  'auth as a word': post({ auth: 'none' }),
  'auth of another kind': post({ auth: { type: 'madeUp', a: 1 } }),
  'an alias and a small method': { name: 'n', description: 'd', config: { endpoint: 'https://a.example/', method: 'post' } },
  'the generic form': { name: 'n', description: 'd', type: 'http', config: { baseUrl: 'https://a.example' } },
};

for (const [name, definition] of Object.entries(UNCHANGED)) {
  test(`a definition is unchanged after a round trip: ${name}`, () => {
    expect(definitionFrom(definition, draftOf(definition))).toEqual(definition);
  });
}

function changed(definition: Definition, change: (draft: Draft) => Partial<Draft>): Definition {
  const draft = draftOf(definition);
  return definitionFrom(definition, { ...draft, ...change(draft) });
}

test('a changed part leaves the rest unchanged', () => {
  const next = changed(WEATHER, ({ about }) => ({ about: { ...about, name: 'forecast' } }));
  expect(next).toEqual({ ...WEATHER, name: 'forecast' });
});

test('a header is added to the existing ones', () => {
  const next = changed(WEATHER, ({ headers: { rows } }) => ({ headers: { rows: [...rows, { ...newRow(rows), key: 'X-New', value: '1' }, newRow(rows)] } }));
  expect(next['config']).toEqual({ ...(WEATHER['config'] as object), headers: { 'X-Key': 'secret://weather_key', 'X-Trace': '{{callId}}', 'X-N': 1, 'X-New': '1' } });
});

test('params become the query when the method no longer sends them there', () => {
  const next = changed(WEATHER, ({ request }) => ({ request: { ...request, method: 'POST' } }));
  expect(next['config']).toMatchObject({ method: 'POST', query: { days: '{{days}}', units: 'metric', n: 5, list: [1, 2] }, unheardOf: { deep: [1] } });
  expect(next['config']).not.toHaveProperty('params');
});

test('params stay params if the meaning is unchanged', () => {
  const next = changed(WEATHER, ({ request }) => ({ request: { ...request, url: 'https://b.example/' } }));
  expect(next['config']).toMatchObject({ params: { days: '{{days}}' }, url: 'https://b.example/' });
  expect(next['config']).not.toHaveProperty('query');
});

test('a changed timeout is stored in one place', () => {
  const next = changed(WEATHER, ({ limits }) => ({ limits: { ...limits, timeout: 20_000 } }));
  expect(next['timeout']).toBe(20_000);
  expect(next['config']).toHaveProperty('security', { allowedDomains: ['api.example.com'], maxResponseSize: 100_000 });
});

test('cleared limits fall back to the defaults', () => {
  const next = changed(WEATHER, ({ limits }) => ({ limits: { ...limits, perMinute: undefined, allowedDomains: '' } }));
  expect(next).not.toHaveProperty('rateLimit');
  expect(next['config']).toHaveProperty('security', { maxResponseSize: 100_000, timeout: 10_000 });
});

test('redaction is stored as paths and patterns', () => {
  const next = changed(WEATHER, ({ response }) => ({ response: { ...response, paths: 'a.b\n\n c ', presets: ['email'] } }));
  expect(next['config']).toHaveProperty('redact', ['a.b', 'c', { pattern: 'email' }, { pattern: 'a+' }]);
});

test('an API key is sent in a header by default', () => {
  const next = changed(NEW_TOOL, () => ({ auth: { type: 'apiKey', fields: { name: 'X-Key', value: 'secret://k' } } }));
  expect(next['config']).toEqual({ auth: { type: 'apiKey', in: 'header', name: 'X-Key', value: 'secret://k' } });
});

test('a body keeps its content when its type changes', () => {
  const { request } = draftOf(post({ body: { a: '1' } }));
  const form = asBodyType(request, 'form');
  expect(form.bodyRows.map(({ key, value }) => [key, value])).toEqual([['a', '1']]);
  expect(JSON.parse(asBodyType(form, 'json').bodyText)).toEqual({ a: '1' });
});

test('invalid JSON is reported by name', () => {
  const draft = draftOf(post({ body: { a: 1 } }));
  const broken = { ...draft, request: { ...draft.request, bodyText: '{"a": {{n}}}' }, schema: { isOwn: true, text: '[]' } };
  expect(brokenJson(broken)).toEqual(['config.body', 'inputSchema']);
});

test('a schema that only lists variables counts as generated', () => {
  expect(isGenerated({ type: 'object', properties: { a: { type: 'string', description: 'Parameter: a' } }, required: ['a'], additionalProperties: false })).toBe(true);
  expect(isGenerated({ type: 'object', properties: { a: { type: 'integer' } }, additionalProperties: false })).toBe(false);
  expect(isGenerated(WEATHER['inputSchema'])).toBe(false);
});

test('variables and secrets are found in every part', () => {
  expect(variablesOf(WEATHER).map(({ name, isCallVariable }) => [name, isCallVariable])).toEqual([['city', false], ['user', false], ['days', false], ['callId', true]]);
  expect(secretsOf(WEATHER)).toEqual([
    { name: 'weather_key', locations: ['headers'], isOwn: false },
    { name: 'own', locations: ['auth'], isOwn: true },
  ]);
});

test('the preview shows variables, and no credentials', () => {
  const preview = previewOf({ ...WEATHER, config: { ...(WEATHER['config'] as object), headers: { 'X-Api-Key': 'letmein' } } }, undefined);
  expect(preview.url).toBe('https://api.example.com/forecast/{{city}}?lang={{user.lang}}&days={{days}}&units=metric&n=5&list=1&list=2');
  expect(preview.headers).toEqual([['X-Api-Key', '••••••••'], ['Authorization', 'Bearer secret://me/own']]);
});

test('unused arguments are previewed where they are sent', () => {
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

test('violations are assigned to their tabs', () => {
  expect(tabOf('config.headers.X-A', WEATHER)).toBe('headers');
  expect(tabOf('config.params.a', WEATHER)).toBe('params');
  expect(tabOf('config.params.a', post({}))).toBe('body');
  expect(tabOf('config.security.maxResponseSize', WEATHER)).toBe('answer');
  expect(tabOf('rateLimit.perMinute', WEATHER)).toBe('limits');
  for (const path of ['effect', 'policy', 'askWhen', 'config.security.allowedDomains.0']) expect(tabOf(path, WEATHER)).toBe('safety');
  expect(tabOf('config.security.timeout', WEATHER)).toBe('limits');
  expect(tabOf('config.imported', WEATHER)).toBeUndefined();
  expect(isUntouched(NEW_TOOL, 'name')).toBe(true);
  expect(isUntouched(WEATHER, 'config.redact.0')).toBe(false);
});

test('deferred settings are stored in their fields, and only if changed', () => {
  const asked = post({ poll: { status: 's', done: ['odd, word'], failed: 'left = 0', interval: 2 } });
  const next = changed(asked, ({ deferred }) => ({ deferred: { ...deferred, status: 'standing', failed: { isCondition: false, text: 'broken，gone, ' } } }));
  expect(next).toEqual(post({ poll: { status: 'standing', done: ['odd, word'], failed: ['broken', 'gone'], interval: 2 } }));
  expect(changed(asked, ({ deferred }) => ({ deferred: { ...deferred, mode: 'once' } }))).toEqual(post({}));
  // A callback has no address and no interval; fields that are not sent are validated by the server.
  expect(changed(asked, ({ deferred }) => ({ deferred: { ...deferred, mode: 'callback', done: { isCondition: true, text: 'x > 1' } } })))
    .toEqual(post({ callback: { status: 's', done: 'x > 1', failed: 'left = 0' } }));
});

test('a request with the callback URL is a complete definition', () => {
  const held = { body: { notify: '{{callbackUrl}}' } };
  const chosen = changed(post({}), ({ request, deferred }) => ({
    request: { ...request, bodyText: JSON.stringify(held.body) }, deferred: { ...deferred, mode: 'callback' },
  }));
  expect(chosen).toEqual(post(held));
  expect(draftOf(chosen).deferred.mode).toBe('callback');
  expect(changed(post({}), ({ deferred }) => ({ deferred: { ...deferred, mode: 'callback' } }))).toEqual(post({ callback: {} }));
  expect(tabOf('config.poll.done', chosen)).toBe('answer');
});
