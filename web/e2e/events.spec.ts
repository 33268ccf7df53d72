// Several tabs of one browser share one event stream; when the leading tab closes, another one takes over.
import type { Page, Request } from '@playwright/test';

import { startConversation } from './support/conversations';
import { expect, type Haft, test } from './support/haft';

const TABS = 8;

/** Records which tabs have an open stream, by their requests that have not finished. */
function watchStreams(page: Page, open: Map<Request, Page>): void {
  page.on('request', (request) => {
    if (/\/events(\?|$)/.test(request.url())) open.set(request, page);
  });
  page.on('requestfinished', (request) => open.delete(request));
  page.on('requestfailed', (request) => open.delete(request));
  page.on('close', () => {
    for (const [request, owner] of open) if (owner === page) open.delete(request);
  });
}

const makeTool = (haft: Haft, name: string) => haft.api('POST', '/api/tools', {
  name, type: 'http', description: 'Made while the tabs are open.', config: { url: 'https://api.example.com/items' },
});

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 });
const tool = (page: Page, name: string) => page.getByRole('link', { name: new RegExp(name) });

test('eight tabs receive every event, also after the tab that reads the stream was closed', async ({ console: first, haft, context }) => {
  const open = new Map<Request, Page>();
  watchStreams(first, open);
  await first.goto(`${haft.url}/tools`);
  await expect(heading(first, 'Tools')).toBeVisible();
  await expect.poll(() => open.size).toBe(1);
  const tabs = [first];
  while (tabs.length < TABS) {
    const tab = await context.newPage();
    watchStreams(tab, open);
    await tab.goto(`${haft.url}/tools`);
    await expect(heading(tab, 'Tools')).toBeVisible();
    tabs.push(tab);
  }
  expect(open.size).toBe(1);

  for (const name of ['made_first', 'made_second', 'made_third']) {
    await makeTool(haft, name);
    for (const tab of tabs) await expect(tool(tab, name)).toBeVisible();
    const [leader] = open.values();
    await leader?.close();
    tabs.splice(tabs.indexOf(leader ?? first), 1);
    await expect.poll(() => open.size).toBe(1);
  }
  expect(tabs).toHaveLength(TABS - 3);
});

/** Creates a tool in the space that a tab has chosen. */
const makeToolIn = (tab: Page, space: string, name: string) => tab.evaluate(async ({ id, body }) => {
  const { ok, status } = await fetch('/api/tools', { method: 'POST', headers: { 'content-type': 'application/json', 'haft-space': id }, body });
  if (!ok) throw new Error(`the tool was refused: ${status}`);
}, { id: space, body: JSON.stringify({ name, type: 'http', description: 'Made in a space.', config: { url: 'https://api.example.com/items' } }) });

test('tabs of three spaces hold two streams, and the third space gets the stream of a closed tab', async ({ console: first, haft, context }) => {
  await first.close();
  const open = new Map<Request, Page>();
  const tabs = new Map<Page, string>();
  for (const name of ['red', 'green', 'blue']) {
    const { id } = await haft.api<{ id: string }>('POST', '/api/spaces', { name });
    const tab = await context.newPage();
    await tab.addInitScript((space) => sessionStorage.setItem('haft.space', space), id);
    watchStreams(tab, open);
    await tab.goto(`${haft.url}/tools`);
    await expect(heading(tab, 'Tools')).toBeVisible();
    tabs.set(tab, id);
    await expect.poll(() => open.size).toBe(Math.min(tabs.size, 2));
  }
  const left = [...tabs].find(([tab]) => ![...open.values()].includes(tab));
  if (left === undefined) throw new Error('every tab holds a stream');
  const [waiting, space] = left;
  const isQueued = () => waiting.evaluate(async () => (await navigator.locks.query()).pending?.some(({ name }) => name?.startsWith('haft.streams')));
  await expect.poll(isQueued).toBe(true);

  await makeToolIn(waiting, space, 'made_while_waiting');
  await [...open.values()][0]?.close();
  await expect.poll(() => [...open.values()]).toContain(waiting);
  await expect(tool(waiting, 'made_while_waiting')).toBeVisible();
});

test('a change during the takeover by another tab is not lost', async ({ console: first, haft, context }) => {
  await first.goto(`${haft.url}/tools`);
  await expect(tool(first, 'calculator')).toBeVisible();
  const second = await context.newPage();
  await second.goto(`${haft.url}/tools`);
  await expect(tool(second, 'calculator')).toBeVisible();
  await Promise.all([first.close(), makeTool(haft, 'made_meanwhile')]);
  await expect(tool(second, 'made_meanwhile')).toBeVisible();
});

test('all tabs show that the connection is lost, and that it is restored', async ({ console: first, haft, context }) => {
  await context.route('**/api/events', (route) => route.abort());
  await first.goto(`${haft.url}/tools`);
  const second = await context.newPage();
  await second.goto(`${haft.url}/tools`);
  for (const tab of [first, second]) await expect(tab.getByText('Connection lost. Reconnecting…')).toBeVisible();
  await context.unroute('**/api/events');
  for (const tab of [first, second]) await expect(tab.getByText('Connection lost. Reconnecting…')).toHaveCount(0, { timeout: 20_000 });
});

test('a page restored from the back/forward cache follows events again', async ({ console: page, haft }) => {
  const open = new Map<Request, Page>();
  await page.goto(`${haft.url}/tools`);
  await expect(tool(page, 'calculator')).toBeVisible();
  await page.evaluate(() => window.dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true })));
  watchStreams(page, open);
  await makeTool(haft, 'made_while_hidden');
  await page.evaluate(() => window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })));
  await expect.poll(() => open.size).toBe(1);
  await expect(tool(page, 'made_while_hidden')).toBeVisible();
});

test('without Web Locks, as on plain HTTP, each visible page reads its own stream', async ({ console: first, haft }) => {
  await first.addInitScript(() => {
    delete (Navigator.prototype as { locks?: unknown }).locks;
  });
  const open = new Map<Request, Page>();
  watchStreams(first, open);
  await first.goto(`${haft.url}/tools`);
  await expect.poll(() => open.size).toBe(1);
  const hide = (isHidden: boolean) => first.evaluate((is) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => is });
    document.dispatchEvent(new Event('visibilitychange'));
  }, isHidden);
  await hide(true);
  await expect.poll(() => open.size).toBe(0);
  await makeTool(haft, 'made_while_hidden');
  await hide(false);
  await expect(tool(first, 'made_while_hidden')).toBeVisible();
});

test('eight tabs with an open conversation all receive its turn', async ({ console: first, haft, context }) => {
  const open = new Map<Request, Page>();
  const id = await startConversation(haft, { name: 'teller', toolIds: [] }, [{ text: 'First words.' }, { text: 'Second words.' }], 'Begin');
  const tabs = [first];
  while (tabs.length < TABS) tabs.push(await context.newPage());
  for (const tab of tabs) {
    watchStreams(tab, open);
    await tab.goto(`${haft.url}/chat/${id}`);
    await expect(tab.getByText('First words.')).toBeVisible();
  }
  // An idle conversation has no stream.
  await expect.poll(() => open.size).toBe(1);
  await haft.api('POST', '/api/chat', { conversationId: id, messages: [{ role: 'user', content: 'Continue' }] });
  for (const tab of tabs) await expect(tab.getByText('Second words.')).toBeVisible();
  await expect.poll(() => open.size, { timeout: 15_000 }).toBe(1);
});
