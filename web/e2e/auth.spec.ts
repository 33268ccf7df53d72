// How a tool's requests prove who sends them: typed into the form once, at the other side with every call, never to be read again.
import type { Page } from '@playwright/test';

import { expect, type Haft, type Seen, test, type Upstream } from './support/haft';

const KEY = 'k-9f8e7d6c5b4a';

interface Way {
  type: string;
  fields: Record<string, string>;
  /** Which of them nobody may read again, by their names in the definition. */
  kept: string[];
  arrives: (seen: Seen) => void;
}

const basic = (name: string, password: string) => `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;

const WAYS: Way[] = [
  {
    type: 'Bearer token', fields: { Token: KEY }, kept: ['token'],
    arrives: ({ headers }) => expect(headers.authorization).toBe(`Bearer ${KEY}`),
  },
  {
    type: 'Name and password (Basic)', fields: { Name: 'ada', Password: KEY }, kept: ['password'],
    arrives: ({ headers }) => expect(headers.authorization).toBe(basic('ada', KEY)),
  },
  {
    type: 'API key', fields: { 'Name of the header or parameter': 'X-Weather-Key', Key: KEY }, kept: ['value'],
    arrives: ({ headers, url }) => {
      expect(headers['x-weather-key']).toBe(KEY);
      expect(url).toBe('/weather');
    },
  },
];

/** Everything but how it signs in, and the tab for that open. */
async function begin(page: Page, haft: Haft, upstream: Upstream, type: string): Promise<void> {
  await page.goto(`${haft.url}/tools/new`);
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('get_weather');
  await page.getByRole('textbox', { name: 'Description', exact: true }).fill('Gives the weather.');
  await page.getByRole('textbox', { name: 'URL', exact: true }).fill(`${upstream.url}/weather`);
  await page.getByRole('tab', { name: 'Auth' }).click();
  await panel(page).getByRole('button', { name: /Type/ }).click();
  await page.getByRole('option', { name: type, exact: true }).click();
}

const panel = (page: Page) => page.getByRole('tabpanel', { name: 'Auth' });

async function fill(page: Page, fields: Record<string, string>): Promise<void> {
  for (const [label, value] of Object.entries(fields)) {
    await panel(page).getByRole('textbox', { name: label, exact: true }).fill(value);
  }
}

/** Saves the tool and calls it, as its page offers right away. */
async function saveAndRun(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Create tool' }).click();
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByText('Succeeded', { exact: true })).toBeVisible();
}

/** The API and the form name the secret, and nobody gives its value away. */
async function isKept(page: Page, haft: Haft, kept: string[]): Promise<void> {
  const tool = await haft.api<{ config: { auth: Record<string, string> } }>('GET', '/api/tools/get_weather');
  for (const name of kept) expect(tool.config.auth[name]).toMatch(/^secret:\/\/\w+$/);
  const calls = await haft.api('GET', '/api/tool-calls');
  expect(JSON.stringify([tool, calls])).not.toContain(KEY);
  await page.getByRole('tab', { name: 'Definition' }).click();
  await page.getByRole('tab', { name: 'Auth' }).click();
  for (const name of kept) await expect(panel(page).locator(`input[value="${tool.config.auth[name]}"]`)).toHaveAttribute('type', 'text');
  expect(await page.content()).not.toContain(KEY);
}

for (const { type, fields, kept, arrives } of WAYS) {
  test(`what is typed as ${type} arrives, and is never shown again`, async ({ console: page, haft, upstream }) => {
    await begin(page, haft, upstream, type);
    await fill(page, fields);
    await expect(panel(page).locator('input[type=password]')).toHaveCount(1);
    await saveAndRun(page);
    expect(upstream.seen).toHaveLength(1);
    upstream.seen.forEach(arrives);
    await isKept(page, haft, kept);
  });
}

test('a key in the query arrives there, and is kept out of what was sent', async ({ console: page, haft, upstream }) => {
  await begin(page, haft, upstream, 'API key');
  await panel(page).getByRole('button', { name: /Where/ }).click();
  await page.getByRole('option', { name: 'In the query' }).click();
  await fill(page, { 'Name of the header or parameter': 'key', Key: KEY });
  await saveAndRun(page);
  expect(upstream.seen.map(({ url }) => url)).toEqual([`/weather?key=${KEY}`]);
  await isKept(page, haft, ['value']);
});

test('client credentials are changed for a token, once for several calls', async ({ console: page, haft, upstream }) => {
  upstream.answers = [
    { status: 200, body: { access_token: 't-0123', token_type: 'Bearer', expires_in: 3600 } },
    { status: 200, body: { temperature: 21.5 } },
  ];
  await begin(page, haft, upstream, 'OAuth 2 client credentials');
  await fill(page, { 'Token URL': `${upstream.url}/oauth/token`, 'Client id': 'haft', 'Client secret': KEY, Scope: 'weather:read' });
  await saveAndRun(page);
  await page.getByRole('button', { name: 'Run' }).click();
  await expect.poll(() => upstream.seen.length).toBe(3);
  const [asked, first, second] = upstream.seen;
  expect([asked?.method, asked?.url]).toEqual(['POST', '/oauth/token']);
  const form = new URLSearchParams(asked?.body);
  expect(form.get('grant_type')).toBe('client_credentials');
  expect(form.get('scope')).toBe('weather:read');
  // Servers take it in either place.
  const sent = asked?.headers.authorization ?? basic(form.get('client_id') ?? '', form.get('client_secret') ?? '');
  expect(sent).toBe(basic('haft', KEY));
  for (const call of [first, second]) expect([call?.url, call?.headers.authorization]).toEqual(['/weather', 'Bearer t-0123']);
  await isKept(page, haft, ['clientSecret']);
});

test('a secret that is there is chosen by its name', async ({ console: page, haft, upstream }) => {
  await haft.api('PUT', '/api/secrets/weather_key', { value: KEY });
  await begin(page, haft, upstream, 'Bearer token');
  await panel(page).getByRole('button', { name: 'Use a secret' }).click();
  await page.getByRole('menuitem', { name: 'weather_key' }).click();
  await expect(panel(page).getByRole('textbox', { name: 'Token' })).toHaveValue('secret://weather_key');
  await saveAndRun(page);
  expect(upstream.seen[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  const { items } = await haft.api<{ items: { name: string }[] }>('GET', '/api/secrets');
  expect(items.map(({ name }) => name)).toEqual(['weather_key']);
});

test('a credential that is missing is asked for at its field', async ({ console: page, haft, upstream }) => {
  await begin(page, haft, upstream, 'Bearer token');
  await page.getByRole('button', { name: 'Create tool' }).click();
  await expect(panel(page).getByRole('textbox', { name: 'Token' })).toHaveAttribute('aria-invalid', 'true');
  await expect(panel(page).getByRole('textbox', { name: 'Token' })).toBeFocused();
});
