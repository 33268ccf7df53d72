// Parts of the chat that need no page: keys, pictures, links to the call log, and deleted conversations.
import { expect, test } from '@playwright/test';

import { errorText } from '../../src/api/client';
import { failureOf } from '../../src/app/failure';
import { artifactOf } from '../../src/components/picture/artifact';
import { keyAction } from '../../src/features/chat/enter';
import { follow } from '../../src/features/chat/follow';
import { addImages } from '../../src/features/chat/images';
import { isLogged } from '../../src/features/chat/record';
import type { Result } from '../../src/features/chat/wire';

const key = (name: string, more: object = {}) => ({ key: name, shiftKey: false, ctrlKey: false, metaKey: false, isComposing: false, keyCode: 13, ...more });

test('Enter sends with a keyboard, and never during a composition', () => {
  expect(keyAction(key('Enter'), true)).toBe('send');
  expect(keyAction(key('Enter', { shiftKey: true }), true)).toBeUndefined();
  expect(keyAction(key('Enter', { isComposing: true }), true)).toBeUndefined();
  // By then Safari has ended the composition.
  expect(keyAction(key('Enter', { keyCode: 229 }), true)).toBeUndefined();
  expect(keyAction(key('Escape', { keyCode: 27 }), true)).toBe('leave');
  expect(keyAction(key('Escape', { keyCode: 229 }), true)).toBeUndefined();
  expect(keyAction(key('a'), true)).toBeUndefined();
  // On a touch screen.
  expect(keyAction(key('Enter'), false)).toBeUndefined();
  expect(keyAction(key('Enter', { ctrlKey: true }), false)).toBe('send');
  expect(keyAction(key('Enter', { metaKey: true }), false)).toBe('send');
});

test('an unreadable picture is reported, and the others are added', async () => {
  const file = (name: string, type = 'image/png') => new File(['x'], name, { type });
  const read = ({ name }: { name?: string }) => (name === 'gone.png' ? Promise.reject(new Error('gone')) : Promise.resolve(`data:${name}`));
  const { urls, refused } = await addImages([file('a.png'), file('gone.png'), file('b.txt', 'text/plain'), file('a.png')], 0, read as (file: Blob) => Promise<string>);
  expect(urls).toEqual(['data:a.png', 'data:a.png']);
  expect(refused).toEqual([{ name: 'gone.png', why: 'unread' }, { name: 'b.txt', why: 'kind' }]);
});

const came = { callId: 'c', toolName: 't', executionTime: 0, attempts: 1, cached: false };
const good = (more: object = {}): Result => ({ success: true, data: 1, ...came, ...more });
const bad = (kind: string, more: object = {}): Result => (
  { success: false, error: { kind, message: '', retryable: false, details: {} }, ...came, attempts: 0, ...more } as Result
);

test('only calls that were made link to the call log', () => {
  const called = { name: 'weather', arguments: { city: 'Oslo' } };
  for (const result of [good(), good({ attempts: 0, cached: true }), bad('Validation'), bad('Denied'), bad('CircuitOpen'), bad('NotFound', { attempts: 1 }), bad('Overloaded', { executionTime: 9 })]) {
    expect(isLogged(called, result), JSON.stringify(result)).toBe(true);
  }
  for (const kind of ['NotFound', 'BudgetExceeded', 'Overloaded', 'Unavailable', 'Cancelled']) expect(isLogged(called, bad(kind)), kind).toBe(false);
  expect(isLogged({ ...called, taskId: 't' }, bad('Cancelled'))).toBe(true);
  expect(isLogged({ name: 'weather', arguments: '{"city": ' }, bad('Validation'))).toBe(false);
  for (const name of ['find_tools', 'read_result', 'task_result']) {
    expect(isLogged({ name, arguments: {} }, good()), name).toBe(false);
    // A custom tool may have the name of a built-in one.
    expect(isLogged({ name, arguments: {} }, good({ executionTime: 3 })), name).toBe(true);
  }
});

test('an artifact is recognized by its reference or its address, and no other address is requested', () => {
  const here = 'https://haft.example';
  const id = '0190b5a0-7c1d';
  expect(artifactOf(`artifact://${id}`, here)).toEqual({ id, sig: undefined });
  expect(artifactOf(`/api/artifacts/${id}`, here)).toEqual({ id, sig: undefined });
  expect(artifactOf(`${here}/api/artifacts/${id}?sig=A-_9`, here)).toEqual({ id, sig: 'A-_9' });
  for (const other of [
    `https://foreign.example/api/artifacts/${id}`, `//foreign.example/api/artifacts/${id}`, `https://haft.example.foreign.example/api/artifacts/${id}`,
    '/api/artifacts', `/api/artifacts/${id}/link`, '/api/artifacts/../me', `${here}/api/me`, 'artifact://a b', 'artifact://', `see artifact://${id}`, '//', '',
  ]) expect(artifactOf(other, here), other).toBeUndefined();
});

test('an unreachable server is reported in the console\'s language', () => {
  const said = (language: string, error: unknown) => {
    Object.assign(globalThis, { document: { documentElement: { lang: language } } });
    return errorText(error);
  };
  for (const message of ['Failed to fetch', 'NetworkError when attempting to fetch resource.', 'Load failed', 'network error']) {
    expect(said('en', new TypeError(message)), message).toBe('The server does not answer. Try again in a moment.');
    expect(said('zh', new TypeError(message)), message).toBe('服务器没有响应，请稍后重试。');
    expect(failureOf(new TypeError(message)).kind).toBe('unreachable');
  }
  const chunk = new TypeError('Failed to fetch dynamically imported module: https://haft.example/assets/a.js');
  expect(said('en', chunk)).toBe(chunk.message);
  expect(failureOf(chunk).kind).toBe('chunk');
  expect(said('en', new Error('no such tool'))).toBe('no such tool');
});

test('a deleted conversation is checked, and no longer followed', async () => {
  const before = globalThis.fetch;
  const said: string[] = [];
  let asked = 0;
  Object.assign(globalThis, { document: { documentElement: { lang: 'en' } }, sessionStorage: { getItem: () => null }, localStorage: { getItem: () => null } });
  globalThis.fetch = () => {
    asked += 1;
    return Promise.resolve(new Response(null, { status: 404 }));
  };
  try {
    const leave = follow('c', {
      after: undefined, onEvents: () => undefined, onState: (isConnected) => said.push(`connected ${isConnected}`),
      isGone: () => {
        said.push('gone?');
        return Promise.resolve(said.length > 2);
      },
    });
    await expect.poll(() => said).toEqual(['gone?', 'connected false', 'gone?']);
    await new Promise((done) => setTimeout(done, 1500));
    leave();
    expect(asked).toBe(2);
  } finally {
    globalThis.fetch = before;
  }
});
