// Tools brought in from a document: picked from what is in it, and not before one has seen it.
import type { Page } from '@playwright/test';

import { expect, type Haft, test } from './support/haft';

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

test('of a document only what was picked comes in', async ({ console: page, haft, upstream }) => {
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
  expect(upstream.seen[0]?.url).toBe('/orders/41');
});

test('a document that names no server asks where its API is', async ({ console: page, haft, upstream }) => {
  await page.goto(`${haft.url}/tools/import`);
  await chooseFile(page, 'shop.json', shop([]));
  await page.getByRole('button', { name: 'Preview' }).click();
  const base = page.getByRole('textbox', { name: 'Base URL' });
  await expect(base).toBeFocused();
  await expect(base).toHaveAccessibleDescription(/does not say where its API is/);
  await base.fill('shop.example');
  await page.getByRole('button', { name: 'Preview' }).click();
  await expect(base).toHaveAccessibleDescription(/absolute http or https URL/);
  await base.fill(upstream.url);
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('button', { name: 'Import 4 tools' }).click();
  await expect(page.getByRole('heading', { name: '4 imported' })).toBeVisible();
  expect(await importedTools(haft)).toHaveLength(4);
});

test('a document that comes again shows what is new in it', async ({ console: page, haft, upstream }) => {
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

test('what is no document is refused in words', async ({ console: page, haft }) => {
  await page.goto(`${haft.url}/tools/import`);
  await page.getByRole('button', { name: 'Preview' }).click();
  await expect(page.getByRole('alert')).toContainText('Give a file, a text or an address first.');
  await page.getByRole('textbox', { name: 'Or paste it' }).fill('this is a letter to my aunt');
  await expect(page.getByRole('alert')).toHaveCount(0);
  await page.getByRole('button', { name: 'Preview' }).click();
  await expect(page.getByRole('alert')).toContainText('must be a JSON or YAML object');
});
