// Authentication of HTTP tools: credentials are entered once, sent with every call, and never readable again.
import type { Page } from '@playwright/test';

import { expect, type Haft, test, type Upstream, type UpstreamRequest } from './support/haft';

const KEY = 'k-9f8e7d6c5b4a';

interface AuthCase {
  type: string;
  fields: Record<string, string>;
  /** The names of the secret fields in the definition. */
  secretFields: string[];
  arrives: (seen: UpstreamRequest) => void;
}

const basic = (name: string, password: string) => `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;

const AUTH_CASES: AuthCase[] = [
  {
    type: 'Bearer token', fields: { Token: KEY }, secretFields: ['token'],
    arrives: ({ headers }) => expect(headers.authorization).toBe(`Bearer ${KEY}`),
  },
  {
    type: 'Name and password (Basic)', fields: { Name: 'ada', Password: KEY }, secretFields: ['password'],
    arrives: ({ headers }) => expect(headers.authorization).toBe(basic('ada', KEY)),
  },
  {
    type: 'API key', fields: { 'Name of the header or parameter': 'X-Weather-Key', Key: KEY }, secretFields: ['value'],
    arrives: ({ headers, url }) => {
      expect(headers['x-weather-key']).toBe(KEY);
      expect(url).toBe('/weather');
    },
  },
];

/** Fills in everything but the authentication, and opens its tab. */
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

/** Saves the tool and calls it from its page. */
async function saveAndRun(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Create tool' }).click();
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByText('Succeeded', { exact: true })).toBeVisible();
}

/** Expects the API and the form to show the secret's name, and never its value. */
async function expectHidden(page: Page, haft: Haft, secretFields: string[]): Promise<void> {
  const tool = await haft.api<{ config: { auth: Record<string, string> } }>('GET', '/api/tools/get_weather');
  for (const name of secretFields) expect(tool.config.auth[name]).toMatch(/^secret:\/\/\w+$/);
  const calls = await haft.api('GET', '/api/tool-calls');
  expect(JSON.stringify([tool, calls])).not.toContain(KEY);
  await page.getByRole('tab', { name: 'Definition' }).click();
  await page.getByRole('tab', { name: 'Auth' }).click();
  for (const name of secretFields) await expect(panel(page).locator(`input[value="${tool.config.auth[name]}"]`)).toHaveAttribute('type', 'text');
  expect(await page.content()).not.toContain(KEY);
}

for (const { type, fields, secretFields, arrives } of AUTH_CASES) {
  test(`credentials of type ${type} are sent, and never shown again`, async ({ console: page, haft, upstream }) => {
    await begin(page, haft, upstream, type);
    await fill(page, fields);
    await expect(panel(page).locator('input[type=password]')).toHaveCount(1);
    await saveAndRun(page);
    expect(upstream.requests).toHaveLength(1);
    upstream.requests.forEach(arrives);
    await expectHidden(page, haft, secretFields);
  });
}

test('a key in the query is sent, and redacted in the call log', async ({ console: page, haft, upstream }) => {
  await begin(page, haft, upstream, 'API key');
  await panel(page).getByRole('button', { name: /Where/ }).click();
  await page.getByRole('option', { name: 'In the query' }).click();
  await fill(page, { 'Name of the header or parameter': 'key', Key: KEY });
  await saveAndRun(page);
  expect(upstream.requests.map(({ url }) => url)).toEqual([`/weather?key=${KEY}`]);
  await expectHidden(page, haft, ['value']);
});

test('client credentials are exchanged for a token once for several calls', async ({ console: page, haft, upstream }) => {
  upstream.responses = [
    { status: 200, body: { access_token: 't-0123', token_type: 'Bearer', expires_in: 3600 } },
    { status: 200, body: { temperature: 21.5 } },
  ];
  await begin(page, haft, upstream, 'OAuth 2 client credentials');
  await fill(page, { 'Token URL': `${upstream.url}/oauth/token`, 'Client id': 'haft', 'Client secret': KEY, Scope: 'weather:read' });
  await saveAndRun(page);
  await page.getByRole('button', { name: 'Run' }).click();
  await expect.poll(() => upstream.requests.length).toBe(3);
  const [tokenRequest, first, second] = upstream.requests;
  expect([tokenRequest?.method, tokenRequest?.url]).toEqual(['POST', '/oauth/token']);
  const form = new URLSearchParams(tokenRequest?.body);
  expect(form.get('grant_type')).toBe('client_credentials');
  expect(form.get('scope')).toBe('weather:read');
  // Servers accept the credentials in either place.
  const sent = tokenRequest?.headers.authorization ?? basic(form.get('client_id') ?? '', form.get('client_secret') ?? '');
  expect(sent).toBe(basic('haft', KEY));
  for (const call of [first, second]) expect([call?.url, call?.headers.authorization]).toEqual(['/weather', 'Bearer t-0123']);
  await expectHidden(page, haft, ['clientSecret']);
});

test('an existing secret is selected by its name', async ({ console: page, haft, upstream }) => {
  await haft.api('PUT', '/api/secrets/weather_key', { value: KEY });
  await begin(page, haft, upstream, 'Bearer token');
  await panel(page).getByRole('button', { name: 'Use a secret' }).click();
  await page.getByRole('menuitem', { name: 'weather_key' }).click();
  await expect(panel(page).getByRole('textbox', { name: 'Token' })).toHaveValue('secret://weather_key');
  await saveAndRun(page);
  expect(upstream.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  const { items } = await haft.api<{ items: { name: string }[] }>('GET', '/api/secrets');
  expect(items.map(({ name }) => name)).toEqual(['weather_key']);
});

test('a missing credential is reported at its field', async ({ console: page, haft, upstream }) => {
  await begin(page, haft, upstream, 'Bearer token');
  await page.getByRole('button', { name: 'Create tool' }).click();
  await expect(panel(page).getByRole('textbox', { name: 'Token' })).toHaveAttribute('aria-invalid', 'true');
  await expect(panel(page).getByRole('textbox', { name: 'Token' })).toBeFocused();
});
