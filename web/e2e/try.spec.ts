// Trying a tool: the form of its schema, the result, and errors at their fields.
import type { Page } from '@playwright/test';

import { expect, type Haft, test, type Upstream } from './support/haft';

const SECRET = 'k-0a1b2c3d4e5f';

const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true });
const run = (page: Page) => page.getByRole('button', { name: 'Run', exact: true });

async function openWeather(page: Page, haft: Haft, upstream: Upstream, more: object = {}): Promise<void> {
  await haft.api('PUT', '/api/secrets/weather_key', { value: SECRET });
  const { id } = await haft.api<{ id: string }>('POST', '/api/tools', {
    name: 'get_forecast',
    description: 'Gives the forecast of a city.',
    type: 'http',
    config: { url: `${upstream.url}/forecast/{{city}}`, query: { days: '{{days}}' }, headers: { 'X-Weather-Key': 'secret://weather_key' } },
    inputSchema: {
      type: 'object',
      required: ['city'],
      properties: {
        city: { type: 'string', minLength: 2, description: 'Name of the city.' },
        days: { type: 'integer', minimum: 1, maximum: 14, default: 3, description: 'How many days ahead.' },
      },
    },
    ...more,
  });
  await page.goto(`${haft.url}/tools/${id}`);
}

test('a result is shown as tree and text, with its duration and attempts', async ({ console: page, haft, upstream }) => {
  upstream.responses = [
    { status: 503, body: { error: 'busy' } },
    { status: 200, body: { city: 'Oslo', days: [{ high: 21.5, rain: false }] } },
  ];
  await openWeather(page, haft, upstream, { retryCount: 2, retryDelay: 10 });
  await expect(page.getByRole('heading', { name: 'No result yet' })).toBeVisible();
  await field(page, 'City').fill('Oslo');
  await run(page).click();

  const tree = page.getByRole('tree', { name: 'Result' });
  await expect(tree.getByRole('treeitem', { name: /city.*Oslo/ })).toBeVisible();
  await tree.getByRole('treeitem', { name: /days.*1 item/ }).click();
  await expect(page.getByText('Succeeded', { exact: true })).toBeVisible();
  await expect(page.getByText('2 attempts')).toBeVisible();
  await expect(page.getByText(/^\d[\d.]* ?m?s$/).first()).toBeVisible();
  expect(upstream.requests.map(({ url }) => url)).toEqual(['/forecast/Oslo?days=3', '/forecast/Oslo?days=3']);

  await page.getByRole('tab', { name: 'Raw' }).click();
  const raw = await page.getByRole('region', { name: 'Result' }).innerText();
  expect(JSON.parse(raw)).toEqual({ city: 'Oslo', days: [{ high: 21.5, rain: false }] });

  await page.getByRole('link', { name: 'See the record' }).click();
  await expect(page).toHaveURL(/\/calls\?.*call=/);
  await expect(page.getByRole('dialog')).toContainText('get_forecast');
});

test('an invalid argument is reported at its field, which gets the focus', async ({ console: page, haft, upstream }) => {
  await openWeather(page, haft, upstream);
  await expect(field(page, 'City')).toHaveAccessibleDescription(/Name of the city.*at least 2 characters/);
  await field(page, 'City').fill('O');
  await run(page).click();
  await expect(field(page, 'City')).toBeFocused();
  await expect(field(page, 'City')).toHaveAttribute('aria-invalid', 'true');
  await expect(field(page, 'City')).toHaveAccessibleDescription(/shorter than 2 characters/);
  await expect(page.getByRole('alert').filter({ hasText: 'Validation' })).toContainText('city');
  expect(upstream.requests).toHaveLength(0);

  await field(page, 'City').fill('Oslo');
  await expect(field(page, 'City')).not.toHaveAttribute('aria-invalid', 'true');
  await run(page).click();
  await expect(page.getByRole('tree', { name: 'Result' })).toBeVisible();

  await field(page, 'City').fill('');
  await run(page).click();
  await expect(field(page, 'City')).toBeFocused();
  await expect(field(page, 'City')).toHaveAttribute('aria-invalid', 'true');
  expect(upstream.requests).toHaveLength(1);
});

test('a number out of bounds is not changed, and is reported at its field', async ({ console: page, haft, upstream }) => {
  await openWeather(page, haft, upstream);
  await field(page, 'City').fill('Oslo');
  await field(page, 'Days').fill('500');
  await run(page).click();
  await expect(field(page, 'Days')).toHaveValue('500');
  await expect(field(page, 'Days')).toHaveAttribute('aria-invalid', 'true');
  await expect(field(page, 'Days')).toHaveAccessibleDescription(/14/);
  await expect(field(page, 'Days')).toBeFocused();
  expect(upstream.requests).toHaveLength(0);

  await page.keyboard.press('ArrowDown');
  await expect(field(page, 'Days')).toHaveValue('14');
  await run(page).click();
  await expect(page.getByRole('tree', { name: 'Result' })).toBeVisible();
  expect(upstream.requests.map(({ url }) => url)).toEqual(['/forecast/Oslo?days=14']);
});

test('the request is previewed without the secret', async ({ console: page, haft, upstream }) => {
  await openWeather(page, haft, upstream);
  await field(page, 'City').fill('São Paulo');
  await page.getByRole('button', { name: 'Preview the request' }).click();
  await expect(page.getByText('Nothing was sent.')).toBeVisible();
  await expect(page.getByText(`${upstream.url}/forecast/S%C3%A3o%20Paulo?days=3`)).toBeVisible();
  const headers = page.getByRole('region', { name: 'Headers' });
  await expect(headers).toContainText(/x-weather-key/i);
  await expect(headers).toContainText('secret://weather_key');
  await expect(page.locator('body')).not.toContainText(SECRET);
  expect(upstream.requests).toHaveLength(0);
});

test('a failing upstream is reported', async ({ console: page, haft, upstream }) => {
  upstream.responses = [{ status: 404, body: { error: 'no such city' } }];
  await openWeather(page, haft, upstream);
  await field(page, 'City').fill('Atlantis');
  await run(page).click();
  await expect(page.getByText('Failed', { exact: true })).toBeVisible();
  await expect(page.getByRole('alert')).toContainText('404');
  await expect(page.getByText('Retrying will not help.')).toBeVisible();
  await expect(page.getByRole('region', { name: 'Details' })).toContainText('no such city');

  upstream.responses = [{ status: 200, body: { city: 'Atlantis' } }];
  await run(page).click();
  await expect(page.getByText('Succeeded', { exact: true })).toBeVisible();
  await expect(page.getByRole('alert')).toHaveCount(0);
});

test('only the fields of the chosen operation are shown', async ({ console: page, haft }) => {
  await page.goto(`${haft.url}/tools/datetime`);
  await expect(field(page, 'Timezone')).toBeVisible();
  await expect(field(page, 'Amount')).toHaveCount(0);
  await page.getByRole('button', { name: /Operation/ }).click();
  await page.getByRole('option', { name: /^add/ }).click();
  await expect(field(page, 'Amount')).toBeVisible();
  await expect(field(page, 'Target date')).toHaveCount(0);
  await page.getByRole('button', { name: /Operation/ }).click();
  await page.getByRole('option', { name: /^diff/ }).click();
  await expect(field(page, 'Amount')).toHaveCount(0);
  await field(page, 'Date').fill('2024-02-28');
  await field(page, 'Target date').fill('2024-03-01');
  await run(page).click();
  await expect(page.getByRole('tree', { name: 'Result' })).toContainText('2');
  await expect(page.getByText('Succeeded', { exact: true })).toBeVisible();
});

test('every type of argument has a field, and is sent with its type', async ({ console: page, haft, upstream }) => {
  const { id } = await haft.api<{ id: string }>('POST', '/api/tools', {
    name: 'book_room',
    description: 'Books a room.',
    type: 'http',
    config: { method: 'POST', url: `${upstream.url}/rooms` },
    inputSchema: {
      type: 'object',
      required: ['room', 'guests', 'contact'],
      properties: {
        room: { enum: ['single', 'double', 'suite'], description: 'What kind of room.' },
        guests: { type: 'integer', minimum: 1, maximum: 4 },
        price: { type: 'number', exclusiveMinimum: 0, description: 'At most, per night.' },
        breakfast: { type: 'boolean' },
        currency: { type: 'string', default: 'EUR' },
        contact: { type: 'object', required: ['email'], properties: { email: { type: 'string', format: 'email' }, phone: { type: 'string' } } },
        wishes: { type: 'array', maxItems: 3, items: { type: 'string' } },
      },
    },
  });
  await page.goto(`${haft.url}/tools/${id}`);
  await page.getByRole('button', { name: /Room/ }).click();
  await expect(page.getByRole('option')).toHaveText(['single', 'double', 'suite']);
  await page.getByRole('option', { name: 'suite' }).click();
  await expect(page.getByText('What kind of room.')).toBeVisible();
  await expect(field(page, 'Guests')).toHaveAccessibleDescription(/1 to 4/);
  await field(page, 'Guests').fill('2');
  await expect(field(page, 'Price')).toHaveAccessibleDescription(/At most, per night.*more than 0/);
  await field(page, 'Price').fill('99.5');
  await page.getByText('Breakfast', { exact: true }).click();
  await expect(field(page, 'Currency')).toHaveAttribute('placeholder', 'EUR');
  const contact = page.getByRole('group', { name: 'Contact' });
  await contact.getByRole('textbox', { name: 'Email' }).fill('ada@example.com');
  await page.getByRole('button', { name: 'Wishes' }).click();
  const wishes = page.getByRole('group', { name: 'Wishes' });
  for (const [at, wish] of ['quiet', 'sea', 'high'].entries()) {
    await wishes.getByRole('button', { name: 'Add to Wishes' }).click();
    await expect(wishes.getByRole('textbox', { name: `Item ${at + 1}` })).toBeFocused();
    await page.keyboard.type(wish);
  }
  await expect(wishes.getByRole('button', { name: 'Add to Wishes' })).toBeDisabled();
  await wishes.getByRole('button', { name: 'Move item 3 up' }).click();
  await wishes.getByRole('button', { name: 'Remove item 1' }).click();
  await run(page).click();
  await expect(page.getByText('Succeeded', { exact: true })).toBeVisible();
  expect(JSON.parse(upstream.requests[0]?.body ?? '')).toEqual({
    room: 'suite', guests: 2, price: 99.5, breakfast: true, currency: 'EUR', contact: { email: 'ada@example.com' }, wishes: ['high', 'sea'],
  });

  await page.getByRole('radio', { name: 'JSON' }).click();
  await expect(page.getByRole('textbox', { name: 'Arguments' })).toContainText('"guests": 2');
});
