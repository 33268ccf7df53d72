// The tool editor and changes from elsewhere: conflicts, approval, private addresses.
import type { Page } from '@playwright/test';

import { expect, type Haft, test } from './support/haft';

interface Tool {
  id: string;
  version: number;
  description: string;
  category: string | null;
  config: Record<string, unknown>;
}

const URL_OF_TOOL = 'https://api.example.com/weather';

const make = (haft: Haft, rest: object = {}) => haft.api<Tool>('POST', '/api/tools', {
  name: 'get_weather', description: 'First.', type: 'http', config: { url: URL_OF_TOOL }, ...rest,
});
const read = (haft: Haft, id: string) => haft.api<Tool>('GET', `/api/tools/${id}`);
const description = (page: Page) => page.getByRole('textbox', { name: 'Description' });
const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true });
const conflict = (page: Page) => page.getByRole('dialog', { name: 'Changed while you were editing' });

test('saving with a conflict compares both versions, and keeping mine keeps the other changes', async ({ console: page, haft }) => {
  const { id } = await make(haft);
  await page.goto(`${haft.url}/tools/${id}?tab=definition`);
  await description(page).fill('Mine.');
  await haft.api('PATCH', `/api/tools/${id}`, { description: 'Theirs.', category: 'weather' });
  await expect(page.getByText('Another user has changed this tool.')).toBeVisible();
  await save(page).click();
  await expect(conflict(page)).toContainText('Version 2 was saved while you were editing.');
  await expect(conflict(page).getByText('Theirs.').first()).toBeVisible();
  await expect(conflict(page).getByText('Mine.').first()).toBeVisible();
  await conflict(page).getByRole('button', { name: 'Back to editing' }).click();
  await expect(description(page)).toHaveValue('Mine.');
  expect((await read(haft, id)).version).toBe(2);

  await page.getByRole('button', { name: 'Compare and keep mine' }).click();
  await conflict(page).getByRole('button', { name: 'Keep mine' }).click();
  await expect(conflict(page)).toBeHidden();
  await expect(page.getByText('All changes saved')).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'Category' })).toHaveValue('weather');
  expect(await read(haft, id)).toMatchObject({ version: 3, description: 'Mine.', category: 'weather' });
});

test('a conflict without an event is found on saving, and the other version is loaded', async ({ console: page, haft }) => {
  const { id } = await make(haft);
  await page.context().route('**/api/events', (route) => route.abort());
  await page.goto(`${haft.url}/tools/${id}?tab=definition`);
  await description(page).fill('Mine.');
  await haft.api('PATCH', `/api/tools/${id}`, { description: 'Theirs.' });
  await save(page).click();
  await expect(conflict(page)).toContainText('Version 2');
  // A third version is saved while the two are compared.
  await haft.api('PATCH', `/api/tools/${id}`, { description: 'Theirs again.' });
  await conflict(page).getByRole('button', { name: 'Keep mine' }).click();
  await expect(conflict(page)).toContainText('Version 3');
  expect((await read(haft, id)).description).toBe('Theirs again.');
  await conflict(page).getByRole('button', { name: 'Load theirs' }).click();
  await expect(description(page)).toHaveValue('Theirs again.');
  await expect(conflict(page)).toBeHidden();
});

test('a tool edited as JSON offers the same choice', async ({ console: page, haft }) => {
  const { id } = await make(haft, { type: 'mock', config: { answers: [{ data: { city: 'Oslo' } }] }, inputSchema: { type: 'object' } });
  await page.goto(`${haft.url}/tools/${id}?tab=definition`);
  const editor = page.getByRole('textbox', { name: 'Definition' });
  await editor.click();
  const text = await editor.innerText();
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(text.replace('First.', 'Mine.'));
  await haft.api('PATCH', `/api/tools/${id}`, { category: 'weather' });
  await page.getByRole('button', { name: 'Compare and keep mine' }).click();
  await conflict(page).getByRole('button', { name: 'Keep mine' }).click();
  await expect(conflict(page)).toBeHidden();
  await expect.poll(() => read(haft, id)).toMatchObject({ description: 'Mine.', category: 'weather' });
});

test('invalid JSON is not compared with a newer version until it is valid again', async ({ console: page, haft }) => {
  const { id } = await make(haft, { type: 'mock', config: { answers: [{ data: 1 }] }, inputSchema: { type: 'object' } });
  await page.goto(`${haft.url}/tools/${id}?tab=definition`);
  const editor = page.getByRole('textbox', { name: 'Definition' });
  await editor.click();
  const text = await editor.innerText();
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(`${text.replace('First.', 'Mine.')},`);
  await expect(page.getByText('This is not a JSON object.')).toBeVisible();
  await haft.api('PATCH', `/api/tools/${id}`, { category: 'weather' });
  const compare = page.getByRole('button', { name: 'Compare and keep mine' });
  for (const button of [compare, save(page)]) {
    await button.click();
    await expect(page.getByText('This is not a JSON object.')).toBeVisible();
    await expect(conflict(page)).toBeHidden();
  }
  await editor.click();
  await page.keyboard.press('Control+End');
  await page.keyboard.press('Backspace');
  await compare.click();
  await conflict(page).getByRole('button', { name: 'Keep mine' }).click();
  await expect(conflict(page)).toBeHidden();
  await expect.poll(() => read(haft, id)).toMatchObject({ description: 'Mine.', category: 'weather' });
});

test('a failed save is reported in view, also from the bottom of the form', async ({ console: page, haft }) => {
  const { id } = await make(haft);
  await page.setViewportSize({ width: 390, height: 700 });
  await page.goto(`${haft.url}/tools/${id}?tab=definition`);
  await page.getByRole('tab', { name: 'Limits' }).click();
  await page.getByRole('textbox', { name: 'Retries' }).fill('2');
  await page.keyboard.press('Tab');
  await page.route(`**/api/tools/${id}`, (route) => route.fulfill({ status: 503, json: { code: 503, message: 'The disk is full.', data: null } }));
  await save(page).click();
  await expect(page.getByRole('alert')).toContainText('The disk is full.');
  await expect(page.getByRole('alert')).toBeInViewport();
});

test('the empty approvals page links to the setting that requires approval', async ({ console: page, haft }) => {
  await page.goto(`${haft.url}/approvals`);
  await expect(page.getByText('open the definition of a tool, choose the tab “Safety”')).toBeVisible();
  const ways = page.getByRole('navigation', { name: 'Set it for a tool' });
  await ways.getByRole('link', { name: 'New tool' }).click();
  await expect(page.getByRole('tab', { name: 'Safety' })).toHaveAttribute('aria-selected', 'true');

  await make(haft);
  await page.goto(`${haft.url}/approvals`);
  await ways.getByRole('link', { name: 'get_weather' }).click();
  await expect(page.getByRole('tab', { name: 'Safety' })).toHaveAttribute('aria-selected', 'true');
  for (const name of [/When an agent calls it/, /Effect/]) await expect(page.getByRole('button', { name })).toBeInViewport();
  await expect(page.getByRole('textbox', { name: 'Allowed domains' })).toBeVisible();
});

test('a URL in a private network shows a warning in both languages', async ({ console: page, haft }) => {
  await page.goto(`${haft.url}/tools/new`);
  const url = page.getByRole('textbox', { name: 'URL' });
  const warning = page.getByText('HAFT_ALLOW_PRIVATE_NETWORKS');
  await url.fill('http://192.168.1.20/items');
  await expect(warning).toContainText('192.168.1.20 resolves to a private address.');
  await url.fill(URL_OF_TOOL);
  await expect(warning).toBeHidden();
  await url.fill('http://169.254.169.254/latest');
  await expect(warning).toBeVisible();
  // The server is configured to allow private networks.
  await url.fill('http://127.0.0.1:9/items');
  await expect(warning).toBeHidden();
  await url.fill('http://10.0.0.7/items');
  await page.getByRole('button', { name: '中文' }).click();
  await expect(warning).toContainText('10.0.0.7 解析到私有地址');
});
