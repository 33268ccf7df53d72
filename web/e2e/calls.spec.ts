// The call log: live rows, filters, details, replay, and the copied command.
import type { Page } from '@playwright/test';

import { expect, type Haft, test, type Upstream } from './support/haft';

const KEY = 'k-0123456789-of-nobody-else';

/** Creates a tool that calls the upstream with a secret key. */
async function weatherTool(haft: Haft, upstream: Upstream): Promise<void> {
  await haft.api('PUT', '/api/secrets/weather_key', { value: KEY });
  await haft.api('POST', '/api/tools', {
    name: 'weather_forecast',
    description: 'Forecast for a city.',
    type: 'http',
    config: { url: `${upstream.url}/forecast/{{city}}`, headers: { 'X-Weather-Key': 'secret://weather_key' } },
  });
}

/** Makes a call, and ignores its result. */
async function call(haft: Haft, tool: string, args: unknown): Promise<void> {
  await haft.api('POST', `/api/tools/${tool}/execute`, { arguments: args }).catch(() => undefined);
}

const list = (page: Page) => page.getByRole('table', { name: 'Calls' });
/** All rows except the header. */
const rows = (page: Page) => list(page).getByRole('row').filter({ has: page.getByRole('cell') });
const panel = (page: Page, tool: string) => page.getByRole('dialog', { name: tool });

test('a new call appears while the log is open', async ({ console: page, haft }) => {
  await page.getByRole('link', { name: 'Calls' }).click();
  await expect(page.getByRole('heading', { name: 'No calls yet' })).toBeVisible();
  await call(haft, 'calculator', { expression: '6 * 7' });
  await expect(rows(page)).toHaveCount(1);
  await expect(rows(page)).toContainText(['calculator']);
  await call(haft, 'calculator', { expression: '2 +' });
  await expect(rows(page)).toHaveCount(2);
  await expect(rows(page).first()).toContainText('Failed');
  await expect(rows(page).first()).toContainText('Unexpected end of expression');

  await page.getByRole('button', { name: /^Live/ }).click();
  await call(haft, 'datetime', { operation: 'now' });
  await call(haft, 'string', { operation: 'length', text: 'abc' });
  await page.getByRole('button', { name: /^Paused/ }).click();
  await expect(rows(page)).toHaveCount(4);
});

test('filters are stored in the address', async ({ console: page, haft, upstream }) => {
  await weatherTool(haft, upstream);
  for (const expression of ['1 + 1', '2 +', '3 +']) await call(haft, 'calculator', { expression });
  await call(haft, 'weather_forecast', { city: 'Oslo' });
  await call(haft, 'weather_forecast', {});
  await page.goto(`${haft.url}/calls`);
  await expect(rows(page)).toHaveCount(5);

  await page.getByRole('combobox', { name: 'Tool' }).fill('calc');
  await page.getByRole('option', { name: 'calculator' }).click();
  await expect(rows(page)).toHaveCount(3);
  await page.getByRole('button', { name: /Status/ }).click();
  await page.getByRole('option', { name: 'Failed' }).click();
  await expect(rows(page)).toHaveCount(2);
  await expect(page).toHaveURL(/tool=calculator/);
  await expect(page).toHaveURL(/status=failed/);

  await page.reload();
  await expect(rows(page)).toHaveCount(2);
  const chosen = page.getByRole('list', { name: 'Active filters' });
  await expect(chosen.getByRole('button', { name: 'Remove filter Tool calculator' })).toBeVisible();
  await chosen.getByRole('button', { name: 'Remove filter Tool calculator' }).click();
  await expect(rows(page)).toHaveCount(3);
  await expect(page).not.toHaveURL(/tool=/);
  await chosen.getByRole('button', { name: 'Clear all' }).click();
  await expect(rows(page)).toHaveCount(5);
});

test('text search matches tool names and error messages', async ({ console: page, haft }) => {
  await call(haft, 'datetime', { operation: 'now' });
  await call(haft, 'calculator', { expression: '1 + 1' });
  await call(haft, 'calculator', { expression: '2 +' });
  await page.goto(`${haft.url}/calls`);
  const search = page.getByRole('searchbox', { name: 'Search tool names and errors' });
  await search.fill('unexpected end');
  await expect(rows(page)).toHaveCount(1);
  await expect(page).toHaveURL(/q=unexpected/);
  await search.fill('datetime');
  await expect(rows(page)).toContainText(['datetime']);
  await expect(rows(page)).toHaveCount(1);
  await search.fill('nothing is called so');
  await expect(page.getByRole('heading', { name: 'No call matches' })).toBeVisible();
  await page.getByRole('button', { name: 'Clear all filters' }).click();
  await expect(rows(page)).toHaveCount(3);
  await expect(search).toHaveValue('');
});

test('a call is opened by click, by keyboard and by address, and shows all its details', async ({ console: page, haft, upstream }) => {
  await weatherTool(haft, upstream);
  await call(haft, 'weather_forecast', { city: 'Oslo' });
  upstream.responses = [{ status: 404, body: { error: 'no such city' } }];
  await call(haft, 'weather_forecast', { city: 'Atlantis' });
  await page.goto(`${haft.url}/calls`);
  await rows(page).last().getByRole('link', { name: 'weather_forecast' }).click();
  const opened = panel(page, 'weather_forecast');
  await expect(opened.getByRole('tree', { name: 'Arguments' })).toContainText('Oslo');
  await expect(opened.getByRole('tree', { name: 'Result' })).toContainText('21.5');
  await expect(opened.getByText('Success')).toBeVisible();

  await page.keyboard.press('k');
  await expect(opened.getByRole('tree', { name: 'Arguments' })).toContainText('Atlantis');
  await expect(opened.getByText('Failed')).toBeVisible();
  await expect(opened.getByText('Not found', { exact: true })).toBeVisible();
  await expect(opened.getByRole('tree', { name: 'Details of the error' })).toContainText('404');
  await expect(opened.getByRole('tree', { name: 'Result' })).toBeHidden();
  await expect(page).toHaveURL(/call=/);

  const other = await page.context().newPage();
  await other.goto(page.url());
  await expect(panel(other, 'weather_forecast').getByRole('tree', { name: 'Arguments' })).toContainText('Atlantis');
  await other.close();

  await page.keyboard.press('Escape');
  await expect(opened).toBeHidden();
  await expect(page).not.toHaveURL(/call=/);
  await expect(rows(page).first().getByRole('link')).toBeFocused();
});

test('an ignored argument is listed under the warnings of its call', async ({ console: page, haft }) => {
  await call(haft, 'string', { operation: 'upper', text: 'abc', separator: ',' });
  await page.goto(`${haft.url}/calls`);
  await rows(page).getByRole('link', { name: 'string' }).click();
  const warnings = panel(page, 'string').getByText(/^Warnings/);
  await expect(warnings).toContainText('separator was ignored');
});

test('a replayed call links to the original', async ({ console: page, haft, upstream }) => {
  await weatherTool(haft, upstream);
  await call(haft, 'weather_forecast', { city: 'Oslo' });
  await page.goto(`${haft.url}/calls`);
  await rows(page).getByRole('link', { name: 'weather_forecast' }).click();
  const first = new URL(page.url()).searchParams.get('call');
  const opened = panel(page, 'weather_forecast');
  await opened.getByRole('button', { name: 'Replay', exact: true }).click();
  await expect(opened.getByRole('tree', { name: 'Answer' })).toContainText('21.5');
  expect(upstream.requests.map((request) => request.url)).toEqual(['/forecast/Oslo', '/forecast/Oslo']);

  await opened.getByRole('link', { name: 'Open the new call' }).click();
  await expect(page).not.toHaveURL(new RegExp(`call=${first}`));
  await expect(opened.getByRole('tree', { name: 'Arguments' })).toContainText('Oslo');
  await opened.getByRole('link', { name: 'the earlier call' }).click();
  await expect(page).toHaveURL(new RegExp(`call=${first}`));
  await page.keyboard.press('Escape');
  // While a row has the focus no row moves; new calls are announced instead.
  await expect(rows(page).nth(1).or(page.getByRole('button', { name: '1 new call' }))).toBeVisible();
});

test('row navigation keys are plain letters while arguments are edited', async ({ console: page, haft, upstream }) => {
  await weatherTool(haft, upstream);
  await call(haft, 'weather_forecast', { city: 'Oslo' });
  await call(haft, 'weather_forecast', { city: 'Bergen' });
  await page.goto(`${haft.url}/calls`);
  await rows(page).getByRole('link', { name: 'weather_forecast' }).first().click();
  const opened = panel(page, 'weather_forecast');
  await opened.getByRole('button', { name: 'Edit and replay' }).click();
  const editor = opened.getByRole('textbox', { name: 'Arguments' });
  await expect(editor).toBeFocused();
  await expect(editor).toContainText('city');
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.press('Delete');
  await expect(editor).not.toContainText('city');
  await page.keyboard.type('{"city": "Njkoping"');
  await expect(editor).toContainText('Njkoping');
  await opened.getByRole('button', { name: 'Call again' }).click();
  await expect.poll(() => upstream.requests.at(-1)?.url).toBe('/forecast/Njkoping');
});

test('replaying a write asks for confirmation', async ({ console: page, haft, upstream }) => {
  await haft.api('POST', '/api/tools', {
    name: 'create_ticket', description: 'Opens a ticket.', type: 'http',
    config: { method: 'POST', url: `${upstream.url}/tickets`, body: { title: '{{title}}' } },
  });
  await call(haft, 'create_ticket', { title: 'It leaks' });
  await page.goto(`${haft.url}/calls`);
  await rows(page).getByRole('link', { name: 'create_ticket' }).click();
  const opened = panel(page, 'create_ticket');
  await opened.getByRole('button', { name: 'Replay', exact: true }).click();
  await expect(opened.getByText('Replaying calls it again')).toBeVisible();
  expect(upstream.requests).toHaveLength(1);
  await opened.getByRole('button', { name: 'Call again' }).click();
  await expect(opened.getByRole('link', { name: 'Open the new call' })).toBeVisible();
  expect(upstream.requests.map((request) => request.body)).toEqual(['{"title":"It leaks"}', '{"title":"It leaks"}']);
});

test('a call is copied as a command without its secret', async ({ console: page, haft, upstream }) => {
  await weatherTool(haft, upstream);
  await call(haft, 'weather_forecast', { city: 'Oslo' });
  expect(upstream.requests[0]?.headers['x-weather-key']).toBe(KEY);
  await page.goto(`${haft.url}/calls`);
  await rows(page).getByRole('link', { name: 'weather_forecast' }).click();
  await panel(page, 'weather_forecast').getByRole('button', { name: 'Copy as cURL' }).click();
  await expect(page.getByRole('status').filter({ hasText: 'Copied.' })).toBeVisible();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  expect(command).toContain(`${upstream.url}/forecast/Oslo`);
  expect(command).toContain('$WEATHER_KEY');
  expect(command).not.toContain(KEY);
  await expect(page.getByRole('region', { name: 'cURL command' })).toHaveText(command);
});

test('older calls are loaded while scrolling', async ({ console: page, haft }) => {
  for (let round = 0; round < 12; round += 1) {
    await Promise.all(Array.from({ length: 10 }, (_, place) => call(haft, 'calculator', { expression: `${round} + ${place}` })));
  }
  await page.goto(`${haft.url}/calls`);
  await expect(rows(page).first()).toBeVisible();
  await expect(async () => {
    await page.mouse.wheel(0, 3000);
    await expect(page.getByText('End of the log: 120 calls.')).toBeInViewport({ timeout: 300 });
  }).toPass();

  await call(haft, 'datetime', { operation: 'now' });
  await page.getByRole('button', { name: '1 new call' }).click();
  await expect(rows(page).first()).toContainText('datetime');
  await expect(rows(page).first()).toBeInViewport();
});
