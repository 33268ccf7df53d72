// Tools: created by the form or from a cURL command, validated, searched, switched off and deleted.
import type { Page } from '@playwright/test';

import { expect, type Haft, test, type Upstream } from './support/haft';

const KEY = 'k-9f8e7d6c5b4a';

const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true });
const save = (page: Page) => page.getByRole('button', { name: 'Create tool' });

test('the form shows the resulting request while typing, and that request is sent', async ({ console: page, haft, upstream }) => {
  await haft.api('PUT', '/api/secrets/weather_key', { value: KEY });
  await page.getByRole('link', { name: 'Tools', exact: true }).click();
  await page.getByRole('button', { name: 'New tool' }).click();

  const beside = page.getByRole('complementary', { name: 'Preview of the tool' });
  const request = beside.getByRole('region', { name: 'The request to be sent' });
  const schema = beside.getByRole('region', { name: 'Schema of the arguments' });
  await expect(field(page, 'Name')).toBeFocused();
  await field(page, 'Name').fill('get_forecast');
  await field(page, 'Description').fill('Gives the forecast of a city. Use it when a user asks about the weather.');
  await field(page, 'URL').fill(`${upstream.url}/forecast/{{city}}`);
  await expect(beside.getByRole('listitem').filter({ hasText: 'city' })).toContainText('path');
  await expect(request).toContainText(`GET ${upstream.url}/forecast/{{city}}`);
  await expect(schema).toContainText('"city"');
  await expect(schema).toContainText('"required"');

  await page.getByRole('group', { name: 'Query parameters' }).getByRole('button', { name: 'Add' }).click();
  await expect(field(page, 'Name 1')).toBeFocused();
  await page.keyboard.type('days');
  await field(page, 'Value 1').fill('{{days}}');
  await page.getByRole('tab', { name: 'Headers' }).click();
  await page.getByRole('group', { name: 'Headers' }).getByRole('button', { name: 'Add' }).click();
  await field(page, 'Name 1').fill('X-Weather-Key');
  await field(page, 'Value 1').fill('secret://weather_key');

  await expect(beside.getByRole('listitem').filter({ hasText: 'days' })).toContainText('query');
  await expect(beside.getByRole('listitem').filter({ hasText: 'weather_key' })).toContainText('Saved');
  await expect(request).toContainText(`${upstream.url}/forecast/{{city}}?days={{days}}`);
  await expect(request).toContainText('X-Weather-Key: secret://weather_key');
  await expect(schema).toContainText('"days"');

  await save(page).click();
  await expect(page.getByRole('heading', { name: 'get_forecast', level: 1 })).toBeVisible();
  await field(page, 'City').fill('São Paulo');
  await field(page, 'Days').fill('3');
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByRole('tree', { name: 'Result' })).toContainText('21.5');
  const [seen] = upstream.requests;
  expect(seen?.method).toBe('GET');
  expect(seen?.url).toBe('/forecast/S%C3%A3o%20Paulo?days=3');
  expect(seen?.headers['x-weather-key']).toBe(KEY);
});

test('a pasted cURL command becomes a tool, and its credential a secret', async ({ console: page, haft, upstream }) => {
  await page.goto(`${haft.url}/tools/new`);
  await page.getByRole('button', { name: 'Paste a cURL command' }).click();
  const dialog = page.getByRole('dialog', { name: 'Paste a cURL command' });
  await dialog.getByRole('textbox', { name: 'cURL command' }).fill(
    `curl -X POST '${upstream.url}/v1/orders/42?notify=true' -H 'Authorization: Bearer ${KEY}' -H 'Content-Type: application/json' -d '{"note": "as agreed"}'`,
  );
  const preview = dialog.getByRole('region', { name: 'Preview' });
  const request = preview.getByRole('group', { name: /^Request of/ });
  await expect(request).toContainText(`POST ${upstream.url}/v1/orders/{order_id}?notify={notify}`);
  await expect(request).toContainText('Authorization');
  await expect(request).toContainText(/In the body.*note/);
  await expect(preview.getByRole('list', { name: 'Variables' }).getByRole('listitem').filter({ hasText: 'notify' })).toContainText('boolean');
  await expect(preview).toContainText('encrypted as secrets');
  await expect(preview).not.toContainText(KEY);
  await dialog.getByRole('textbox', { name: 'Name' }).fill('note_order');
  await dialog.getByRole('textbox', { name: 'Description' }).fill('Writes a note to an order.');
  await dialog.getByRole('button', { name: 'Create and open in the form' }).click();

  await expect(page.getByRole('tab', { name: 'Definition' })).toHaveAttribute('aria-selected', 'true');
  await expect(field(page, 'Name')).toHaveValue('note_order');
  await expect(page.getByRole('button', { name: /Method/ })).toContainText('POST');
  await expect(field(page, 'URL')).toHaveValue(new RegExp(`^${upstream.url}/v1/orders/`));
  const { items } = await haft.api<{ items: { name: string }[] }>('GET', '/api/secrets');
  const [secret] = items;
  expect(items).toHaveLength(1);
  const beside = page.getByRole('complementary', { name: 'Preview of the tool' });
  await expect(beside.getByRole('listitem').filter({ hasText: secret?.name ?? '?' })).toContainText('Saved');
  await expect(beside.getByRole('region', { name: 'The request to be sent' })).toContainText(`secret://${secret?.name}`);
  await expect(page.locator('body')).not.toContainText(KEY);

  await page.getByRole('tab', { name: 'Try it' }).click();
  await page.getByRole('textbox', { name: 'Order id' }).fill('42');
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByRole('tree', { name: 'Result' })).toBeVisible();
  const [seen] = upstream.requests;
  expect(seen?.url).toBe('/v1/orders/42?notify=true');
  expect(seen?.headers.authorization).toBe(`Bearer ${KEY}`);
  expect(JSON.parse(seen?.body ?? '')).toEqual({ note: 'as agreed' });
});

test('a cURL command is previewed while typing, and replaces a started form only after confirmation', async ({ console: page, haft, upstream }) => {
  await page.goto(`${haft.url}/tools/new`);
  await field(page, 'Name').fill('half_done');
  await page.getByRole('button', { name: 'Paste a cURL command' }).click();
  const dialog = page.getByRole('dialog', { name: 'Paste a cURL command' });
  const command = dialog.getByRole('textbox', { name: 'cURL command' });
  await command.fill(`curl ${upstream.url}/cities`);
  await expect(dialog).toContainText(`GET ${upstream.url}/cities`);
  await expect(dialog).toContainText('No variables');
  await command.fill(`curl '${upstream.url}/cities/{{city}}?days=3'`);
  await expect(dialog).toContainText(`GET ${upstream.url}/cities/{city}?days={days}`);
  const variables = dialog.getByRole('list', { name: 'Variables' }).getByRole('listitem');
  await expect(variables.filter({ hasText: 'city' })).toContainText('required');
  await expect(variables.filter({ hasText: 'days' })).toContainText('default 3');
  await dialog.getByRole('button', { name: 'Schema', exact: true }).click();
  await expect(dialog.getByRole('region', { name: /^Schema of/ })).toContainText('"additionalProperties"');

  await dialog.getByRole('button', { name: 'Create and open in the form' }).click();
  const question = page.getByRole('dialog', { name: 'Leave the form?' });
  await expect(question).toContainText('Your input in the form will be lost');
  await question.getByRole('button', { name: 'Cancel' }).click();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expect(field(page, 'Name')).toHaveValue('half_done');
  const { items } = await haft.api<{ items: { type: string }[] }>('GET', '/api/tools?q=cities');
  expect(items).toHaveLength(0);

  await page.getByRole('button', { name: 'Paste a cURL command' }).click();
  await command.fill(`curl '${upstream.url}/cities/{{city}}'`);
  await dialog.getByRole('button', { name: 'Create and open in the form' }).click();
  await question.getByRole('button', { name: 'Create and leave' }).click();
  await expect(page.getByRole('tab', { name: 'Definition' })).toHaveAttribute('aria-selected', 'true');
  await expect(field(page, 'URL')).toHaveValue(`${upstream.url}/cities/{{city}}`);
});

test('errors of the server are shown at their fields', async ({ console: page, haft }) => {
  await page.goto(`${haft.url}/tools/new`);
  await field(page, 'Name').fill('get weather');
  await expect(field(page, 'Name')).toHaveAccessibleDescription(/cannot contain spaces/);
  await field(page, 'Name').fill('get_weather');
  await expect(field(page, 'Name')).not.toHaveAccessibleDescription(/cannot contain spaces/);

  await save(page).click();
  await expect(page.getByRole('alert')).toContainText('Correct the marked fields');
  await expect(field(page, 'Description')).toHaveAttribute('aria-invalid', 'true');
  await expect(field(page, 'Description')).toBeFocused();

  await field(page, 'Description').fill('Gives the weather.');
  await field(page, 'URL').fill('http://[::1/weather');
  await expect(field(page, 'URL')).toHaveAccessibleDescription(/is not a URL/);
  await save(page).click();
  await expect(field(page, 'URL')).toBeFocused();
  await field(page, 'URL').fill('http://127.0.0.1:9/weather');
  await expect(field(page, 'URL')).not.toHaveAttribute('aria-invalid', 'true');

  await field(page, 'Name').fill('datetime');
  await save(page).click();
  await expect(field(page, 'Name')).toHaveAccessibleDescription(/datetime is the name of a tool that comes with the program/);
  await expect(field(page, 'Name')).toBeFocused();
  await field(page, 'Name').fill('get_weather');
  await save(page).click();
  await expect(page.getByRole('heading', { name: 'get_weather', level: 1 })).toBeVisible();
});

test('an invalid header is shown in its tab, which is marked', async ({ console: page, haft }) => {
  await page.goto(`${haft.url}/tools/new`);
  await field(page, 'Name').fill('get_weather');
  await field(page, 'Description').fill('Gives the weather.');
  await field(page, 'URL').fill('http://127.0.0.1:9/weather');
  await page.getByRole('tab', { name: 'Headers' }).click();
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await field(page, 'Name 1').fill('Host');
  await field(page, 'Value 1').fill('elsewhere.example');
  await page.getByRole('tab', { name: 'Params' }).click();
  await save(page).click();
  const tab = page.getByRole('tab', { name: 'Headers' });
  await expect(tab).toHaveAttribute('aria-selected', 'true');
  await expect(tab.getByRole('img', { name: 'This tab has errors' })).toBeVisible();
  await expect(field(page, 'Value 1')).toBeFocused();
  await expect(field(page, 'Value 1')).toHaveAccessibleDescription(/is set by Haft itself/);
});

test('tools are searched by text and filtered by category', async ({ console: page, haft }) => {
  const make = (name: string, category: string, description: string) =>
    haft.api('POST', '/api/tools', { name, category, description, type: 'http', config: { url: 'http://127.0.0.1:9/' } });
  await make('list_orders', 'shop', 'Orders of a customer, the newest first.');
  await make('cancel_order', 'shop', 'Cancels an order that is not sent yet.');
  await make('open_ticket', 'support', 'Asks the support team.');
  await page.goto(`${haft.url}/tools`);
  const list = page.getByRole('region', { name: 'Tools' });
  await expect(list.getByRole('heading', { name: 'shop 2' })).toBeVisible();

  const categories = page.getByRole('navigation', { name: 'Categories' });
  await categories.getByRole('link', { name: /^Shop/ }).click();
  await expect(list.getByRole('link')).toHaveCount(2);
  await expect(page).toHaveURL(/category=shop/);
  const search = page.getByRole('searchbox', { name: 'Search tools' });
  await search.fill('newest');
  await expect(list.getByRole('link')).toHaveCount(1);
  await expect(list.getByRole('link', { name: /list_orders/ })).toBeVisible();
  await search.fill('ticket');
  await expect(page.getByRole('heading', { name: 'No tool matches' })).toBeVisible();
  await categories.getByRole('link', { name: /^All/ }).click();
  await expect(list.getByRole('link', { name: /open_ticket/ })).toBeVisible();
  await search.fill('nothing has this word');
  await page.getByRole('button', { name: 'Show all tools' }).click();
  await expect(search).toHaveValue('');
  await expect(list.getByRole('link', { name: /calculator/ })).toBeVisible();
});

async function makeTool(haft: Haft, upstream: Upstream): Promise<{ id: string }> {
  return haft.api<{ id: string }>('POST', '/api/tools', {
    name: 'get_weather', description: 'Gives the weather of a city.', type: 'http', config: { url: `${upstream.url}/weather` },
  });
}

test('a tool is switched off, rejects calls, and is switched on again', async ({ console: page, haft, upstream }) => {
  const { id } = await makeTool(haft, upstream);
  await page.goto(`${haft.url}/tools/${id}`);
  await page.getByText('Active', { exact: true }).click();
  await expect(page.getByRole('switch', { name: 'Off' })).not.toBeChecked();
  await expect(page.getByText('This tool is disabled')).toBeVisible();
  // The switch shows the requested state before the server has responded.
  await expect(page.getByText('Version 2')).toBeVisible();
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByRole('alert')).toContainText('Tool disabled');
  expect(upstream.requests).toHaveLength(0);
  await page.goto(`${haft.url}/tools?q=get_weather`);
  await expect(page.getByRole('link', { name: /get_weather.*Off/ })).toBeVisible();

  await page.getByRole('link', { name: /get_weather/ }).click();
  await page.getByText('Off', { exact: true }).click();
  await expect(page.getByRole('switch', { name: 'Active' })).toBeChecked();
  await expect(page.getByText('Version 3')).toBeVisible();
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByRole('tree', { name: 'Result' })).toBeVisible();
  expect(upstream.requests).toHaveLength(1);
});

test('a tool is deleted only after confirmation', async ({ console: page, haft, upstream }) => {
  const { id } = await makeTool(haft, upstream);
  await page.goto(`${haft.url}/tools/${id}`);
  const ask = async () => {
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
  };
  await ask();
  const question = page.getByRole('dialog', { name: 'Delete get_weather?' });
  await question.getByRole('button', { name: 'Cancel' }).click();
  await expect(question).toBeHidden();
  await haft.api('GET', `/api/tools/${id}`);

  await ask();
  await question.getByRole('button', { name: 'Delete tool' }).click();
  await expect(page).toHaveURL(/\/tools$/);
  await expect(haft.api('GET', `/api/tools/${id}`)).rejects.toThrow('404');
});

test('the confirmation warns if an agent uses the tool', async ({ console: page, haft, upstream }) => {
  const { id } = await makeTool(haft, upstream);
  const agent = await haft.api<{ id: string }>('POST', '/api/agents', { name: 'travel_guide', toolIds: [id, 'datetime'] });
  await page.goto(`${haft.url}/tools/${id}?tab=definition`);
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  const question = page.getByRole('dialog', { name: 'Delete get_weather?' });
  await expect(question).toContainText('travel_guide');
  await question.getByRole('button', { name: 'Delete and remove from agents' }).click();
  await expect(page).toHaveURL(/\/tools$/);
  await expect(page.getByRole('region', { name: 'Tools' })).not.toContainText('get_weather');
  const { toolIds } = await haft.api<{ toolIds: string[] }>('GET', `/api/agents/${agent.id}`);
  expect(toolIds).toEqual(['datetime']);
});

test('with only the sample tools, ways to create a tool come first', async ({ console: page, haft, upstream }) => {
  const first = page.getByRole('region', { name: 'Create your first tool' });
  await page.goto(`${haft.url}/tools`);
  await first.getByRole('button', { name: /Import OpenAPI/ }).click();
  await expect(page.getByRole('tab', { name: 'OpenAPI' })).toHaveAttribute('aria-selected', 'true');
  await page.goBack();
  await first.getByRole('button', { name: /Fill in a form/ }).click();
  await expect(page.getByRole('heading', { name: 'New tool', level: 1 })).toBeVisible();
  await page.goBack();
  await first.getByRole('button', { name: 'Try the sample' }).click();
  await expect(page.getByRole('heading', { name: 'Weather (sample)', level: 1 })).toBeVisible();
  await page.getByRole('textbox', { name: 'City' }).fill('Tokyo');
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByText('Succeeded', { exact: true })).toBeVisible();

  await page.goBack();
  await first.getByRole('button', { name: /Paste a cURL command/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Paste a cURL command' });
  await dialog.getByRole('textbox', { name: 'cURL command' }).fill(`curl ${upstream.url}/weather/Oslo`);
  await dialog.getByRole('textbox', { name: 'Description' }).fill('Weather of Oslo.');
  await dialog.getByRole('button', { name: 'Create and open in the form' }).click();
  await expect(page.getByRole('tab', { name: 'Definition' })).toHaveAttribute('aria-selected', 'true');
  await page.goto(`${haft.url}/tools`);
  await expect(page.getByRole('link', { name: 'Calculator' })).toBeVisible();
  await expect(first).toBeHidden();
});
