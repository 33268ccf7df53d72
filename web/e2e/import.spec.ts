// Import of documents: the operations are shown first, and selected before anything is created.
import type { Page } from '@playwright/test';

import { expect, type Haft, test } from './support/haft';

const KEY = 'k-9f8e7d6c5b4a';

function shop(servers: string[]): string {
  const answers = { 200: { description: 'Done.' } };
  const customer = { name: 'customer', in: 'query', schema: { type: 'string' } };
  const id = { name: 'id', in: 'path', required: true, schema: { type: 'integer' } };
  return JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Shop', version: '1' },
    servers: servers.map((url) => ({ url })),
    paths: {
      '/orders': {
        get: { operationId: 'listOrders', summary: 'Orders of a customer', tags: ['orders'], parameters: [customer], responses: answers },
        post: { operationId: 'createOrder', summary: 'Orders something', tags: ['orders'], responses: answers },
      },
      '/orders/{id}': { get: { operationId: 'getOrder', summary: 'One order', tags: ['orders'], parameters: [id], responses: answers } },
      '/customers': { get: { operationId: 'listCustomers', summary: 'All customers', tags: ['customers'], responses: answers } },
    },
  });
}

async function importedTools(haft: Haft): Promise<string[]> {
  const { items } = await haft.api<{ items: { name: string; config: { imported?: object } }[] }>('GET', '/api/tools?limit=200');
  return items.filter(({ config }) => config.imported !== undefined).map(({ name }) => name).sort();
}

async function chooseFile(page: Page, name: string, text: string): Promise<void> {
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'choose one' }).click();
  await (await chooser).setFiles({ name, mimeType: 'application/json', buffer: Buffer.from(text) });
  await expect(page.getByText(name)).toBeVisible();
}

test('only the selected operations of a document are imported', async ({ console: page, haft, upstream }) => {
  await page.goto(`${haft.url}/tools`);
  await page.getByRole('button', { name: 'Import' }).click();
  await page.getByRole('textbox', { name: 'Or paste it' }).fill(shop([upstream.url]));
  await page.getByRole('button', { name: 'Preview' }).click();

  const operation = (path: string) => page.getByRole('checkbox', { name: path });
  await expect(page.getByRole('status').filter({ hasText: '4 of 4 selected' })).toBeVisible();
  await operation('POST /orders').uncheck();
  await page.getByRole('searchbox', { name: 'Search operations' }).fill('customers');
  await expect(page.getByRole('checkbox')).toHaveCount(1);
  await page.getByRole('button', { name: 'Select none' }).click();
  await page.getByRole('searchbox', { name: 'Search operations' }).fill('');
  await expect(page.getByRole('status').filter({ hasText: '2 of 4 selected' })).toBeVisible();
  expect(await importedTools(haft)).toEqual([]);

  await page.getByRole('button', { name: 'Import 2 tools' }).click();
  await expect(page.getByRole('heading', { name: '2 imported' })).toBeVisible();
  expect(await importedTools(haft)).toHaveLength(2);
  await page.getByRole('link', { name: /getOrder/ }).click();
  await page.getByRole('textbox', { name: 'Id', exact: true }).fill('41');
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByText('Succeeded', { exact: true })).toBeVisible();
  expect(upstream.requests[0]?.url).toBe('/orders/41');
});

test('a selection is not lost by navigation without confirmation', async ({ console: page, haft, upstream }) => {
  await page.goto(`${haft.url}/tools/import`);
  await page.getByRole('textbox', { name: 'Or paste it' }).fill(shop([upstream.url]));
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('checkbox', { name: 'POST /orders' }).uncheck();
  await page.getByRole('link', { name: 'Calls', exact: true }).click();
  const question = page.getByRole('dialog', { name: 'Leave without importing?' });
  await question.getByRole('button', { name: 'Cancel' }).click();
  await expect(page.getByRole('checkbox', { name: 'POST /orders' })).not.toBeChecked();

  await page.getByRole('link', { name: 'Calls', exact: true }).click();
  await question.getByRole('button', { name: 'Leave' }).click();
  await expect(page.getByRole('heading', { name: 'Calls', level: 1 })).toBeVisible();
});

test('a document without servers asks for the base URL', async ({ console: page, haft, upstream }) => {
  await page.goto(`${haft.url}/tools/import`);
  await chooseFile(page, 'shop.json', shop([]));
  await page.getByRole('button', { name: 'Preview' }).click();
  const base = page.getByRole('textbox', { name: 'Base URL' });
  await expect(base).toBeFocused();
  await expect(base).toHaveAccessibleDescription(/has no address of its API/);
  await base.fill('shop.example');
  await page.getByRole('button', { name: 'Preview' }).click();
  await expect(base).toHaveAccessibleDescription(/absolute http or https URL/);
  await base.fill(upstream.url);
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('button', { name: 'Import 4 tools' }).click();
  await expect(page.getByRole('heading', { name: '4 imported' })).toBeVisible();
  expect(await importedTools(haft)).toHaveLength(4);
});

test('a document imported again shows its new operations', async ({ console: page, haft, upstream }) => {
  const document = shop([upstream.url]);
  await haft.api('POST', '/api/tools/import/openapi', { spec: document, only: ['GET /orders', 'GET /customers'] });
  await page.goto(`${haft.url}/tools/import`);
  await chooseFile(page, 'shop.json', document.replace('All customers', 'Everybody who ever bought something'));
  await page.getByRole('button', { name: 'Preview' }).click();
  const row = (name: string) => page.getByRole('listitem').filter({ has: page.getByRole('checkbox', { name }) });
  await expect(row('GET /customers')).toContainText('Changed');
  await row('GET /customers').getByRole('button', { name: '1 difference' }).click();
  await expect(row('GET /customers')).toContainText('Everybody who ever bought something');
  await expect(row('Orders of a customer')).toContainText('Unchanged');
  await expect(row('Orders of a customer').getByRole('checkbox')).not.toBeChecked();
  await expect(row('POST /orders')).toContainText('New');
});

test('an invalid document is rejected with a message', async ({ console: page, haft }) => {
  await page.goto(`${haft.url}/tools/import`);
  await page.getByRole('button', { name: 'Preview' }).click();
  await expect(page.getByRole('alert')).toContainText('Enter a file, a text or a URL first.');
  await page.getByRole('textbox', { name: 'Or paste it' }).fill('this is a letter to my aunt');
  await expect(page.getByRole('alert')).toHaveCount(0);
  await page.getByRole('button', { name: 'Preview' }).click();
  await expect(page.getByRole('alert')).toContainText('must be a JSON or YAML object');
});

const picks = (page: Page, name: string | RegExp) => page.getByRole('checkbox', { name });
const selected = (page: Page, text: string) => page.getByRole('status').filter({ hasText: text });

async function run(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByText('Succeeded', { exact: true })).toBeVisible();
}

test('a document is fetched from its address', async ({ console: page, haft, upstream }) => {
  upstream.responses = [{ status: 404, body: { error: 'gone' } }, { status: 200, body: JSON.parse(shop([upstream.url])) }];
  await page.goto(`${haft.url}/tools/import`);
  const address = page.getByRole('textbox', { name: 'URL of the document' });
  await address.fill('shop.example/openapi.json');
  await page.getByRole('button', { name: 'Preview' }).click();
  await expect(page.getByRole('alert')).toContainText('A URL begins with http:// or https://.');
  await address.fill(`${upstream.url}/openapi.json`);
  await page.getByRole('button', { name: 'Preview' }).click();
  await expect(page.getByRole('alert')).toContainText('404');
  await page.getByRole('button', { name: 'Preview' }).click();

  await expect(selected(page, '4 of 4 selected')).toBeVisible();
  await page.getByRole('button', { name: 'Select none' }).click();
  await expect(page.getByRole('button', { name: 'Import 0 tools' })).toBeDisabled();
  await picks(page, 'GET /customers').check();
  await page.getByRole('button', { name: 'Import 1 tool', exact: true }).click();
  await expect(page.getByRole('heading', { name: '1 imported' })).toBeVisible();
  await page.getByRole('link', { name: /listCustomers/ }).click();
  await run(page);
  expect(upstream.requests.map(({ url }) => url)).toEqual(['/openapi.json', '/openapi.json', '/openapi.json', '/customers']);
});

test('a Postman collection is imported with variables, folders and authentication', async ({ console: page, haft, upstream }) => {
  const request = (name: string, method: string, path: string, more = {}) => ({
    name, request: { method, url: { raw: `{{base}}${path}`, host: ['{{base}}'], path: path.slice(1).split('/') }, ...more },
  });
  const collection = {
    info: { name: 'Shop', schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json' },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: KEY }] },
    variable: [{ key: 'base', value: upstream.url }],
    item: [
      { name: 'Orders', item: [request('List orders', 'GET', '/orders'), request('Create order', 'POST', '/orders', { body: { mode: 'raw', raw: '{"item": "tea"}', options: { raw: { language: 'json' } } } })] },
      request('All customers', 'GET', '/customers'),
    ],
  };
  await page.goto(`${haft.url}/tools/import`);
  // The file type is recognized under any heading.
  await chooseFile(page, 'shop.postman_collection.json', JSON.stringify(collection));
  await expect(page.getByRole('tab', { name: 'Postman' })).toHaveAttribute('aria-selected', 'true');
  await page.getByRole('button', { name: 'Preview' }).click();
  await expect(selected(page, '3 of 3 selected')).toBeVisible();
  await expect(page.getByText('Included')).toBeVisible();
  await expect(page.locator('body')).not.toContainText(KEY);
  await picks(page, 'POST /orders').uncheck();
  await picks(page, 'GET /customers').uncheck();
  await page.getByRole('button', { name: 'Import 1 tool', exact: true }).click();
  await page.getByRole('listitem').getByRole('link', { name: /orders/i }).click();
  await run(page);
  expect(upstream.requests.map(({ method, url, headers }) => [method, url, headers.authorization])).toEqual([['GET', '/orders', `Bearer ${KEY}`]]);
  expect(await importedTools(haft)).toHaveLength(1);
});

test('the API requests of a recording are imported, and no response leaves the browser', async ({ console: page, haft, upstream }) => {
  const entry = (method: string, path: string, mimeType: string) => ({
    request: { method, url: upstream.url + path, headers: [{ name: 'Accept', value: mimeType }], queryString: [], cookies: [] },
    response: { status: 200, content: { mimeType, text: 'what only the browser saw' } },
  });
  const entries = [
    entry('GET', '/orders/4100', 'application/json'), entry('GET', '/orders/4200', 'application/json'),
    entry('GET', '/customers', 'application/json'), entry('GET', '/logo.svg', 'image/svg+xml'),
  ];
  const sent = page.waitForRequest('**/api/tools/import/har');
  await page.goto(`${haft.url}/tools/import`);
  await chooseFile(page, 'shop.har', JSON.stringify({ log: { version: '1.2', entries } }));
  await expect(page.getByRole('tab', { name: 'HAR' })).toHaveAttribute('aria-selected', 'true');
  await page.getByRole('button', { name: 'Preview' }).click();
  expect((await sent).postData()).not.toContain('what only the browser saw');
  // Both orders become one tool, and the picture is skipped.
  await expect(selected(page, '2 of 2 selected')).toBeVisible();
  await expect(picks(page, /logo/)).toHaveCount(0);
  await page.getByRole('button', { name: 'Import 2 tools' }).click();
  await page.getByRole('listitem').getByRole('link', { name: /orders/i }).click();
  await page.getByRole('tabpanel').getByRole('textbox').first().fill('4300');
  await run(page);
  expect(upstream.requests.map(({ url }) => url)).toEqual(['/orders/4300']);
});

test('exported definitions are matched by name, and only selected ones are changed', async ({ console: page, haft, upstream }) => {
  const { id } = await haft.api<{ id: string }>('POST', '/api/tools', {
    name: 'get_weather', description: 'Gives the weather.', type: 'http', config: { url: `${upstream.url}/weather` },
  });
  await haft.api('POST', '/api/tools', { name: 'get_tide', description: 'Gives the tide.', type: 'http', config: { url: `${upstream.url}/tide` } });
  const agent = await haft.api<{ id: string }>('POST', '/api/agents', { name: 'guide', toolIds: [id] });
  const exported = await haft.api('GET', '/api/tools/export');
  await haft.api('DELETE', `/api/agents/${agent.id}`);
  await haft.api('DELETE', '/api/tools/get_tide');
  await haft.api('PATCH', `/api/tools/${id}`, { description: 'Gives the weather, wrongly.' });

  await page.goto(`${haft.url}/tools/import`);
  await chooseFile(page, 'haft.json', JSON.stringify(exported, null, 2));
  await expect(page.getByRole('tab', { name: 'Haft definitions' })).toHaveAttribute('aria-selected', 'true');
  await page.getByRole('button', { name: 'Preview' }).click();
  const row = (name: string) => page.getByRole('listitem').filter({ has: picks(page, new RegExp(`^${name}`)) });
  await expect(row('get_tide')).toContainText('New');
  await expect(row('guide')).toContainText('Agent');
  await expect(row('sample_weather')).toContainText('Unchanged');
  await expect(row('sample_weather').getByRole('checkbox')).not.toBeChecked();
  await row('get_weather').getByRole('button', { name: '1 difference' }).click();
  await expect(row('get_weather')).toContainText('Gives the weather, wrongly.');
  await row('get_tide').getByRole('checkbox').uncheck();
  await page.getByRole('button', { name: 'Import 2', exact: true }).click();
  await expect(page.getByRole('heading', { name: '2 imported' })).toBeVisible();
  await expect(page.getByText('1 new, 1 changed.')).toBeVisible();

  const { items } = await haft.api<{ items: { name: string; description: string }[] }>('GET', '/api/tools?limit=200');
  expect(items.find(({ name }) => name === 'get_weather')?.description).toBe('Gives the weather.');
  expect(items.map(({ name }) => name)).not.toContain('get_tide');
  await page.getByRole('link', { name: 'guide' }).click();
  await expect(page.getByRole('button', { name: 'Configure get_weather' })).toBeVisible();
});
