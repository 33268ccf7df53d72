// Pages that do not come: each says why in words, and there is a way on.
import { expect, test } from './support/haft';

test('a server that fails is quoted with the id of the request, and asked again', async ({ console: page, haft }) => {
  const error = { kind: 'Internal', details: {}, requestId: 'req-0815' };
  await page.route('**/api/me', (route) => route.fulfill({ status: 500, json: { code: 500, message: 'the disk is full', data: null, error } }));
  await page.goto(`${haft.url}/tools`);
  await expect(page.getByRole('heading', { name: 'The server could not do this', level: 1 })).toBeVisible();
  await expect(page.getByRole('alert')).toContainText('the disk is full');
  await expect(page.getByText('req-0815')).toBeVisible();
  await page.getByRole('button', { name: 'Copy the request id' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('req-0815');

  await page.unroute('**/api/me');
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByRole('heading', { name: 'Tools', level: 1 })).toBeVisible();
});

test('a server that does not answer is told from one that fails', async ({ console: page, haft }) => {
  await page.route('**/api/me', (route) => route.abort());
  await page.goto(`${haft.url}/agents`);
  await expect(page.getByRole('heading', { name: 'The server does not answer', level: 1 })).toBeVisible();
  await page.unroute('**/api/me');
  await page.getByRole('button', { name: 'To the overview' }).click();
  await expect(page.getByRole('heading', { name: 'Welcome to Haft', level: 1 })).toBeVisible();
});

test('a page that breaks leaves the others alone, and is tried again', async ({ console: page }) => {
  await page.route('**/api/agents?*', (route) => route.fulfill({ json: { code: 200, message: 'success', data: { items: [null], nextCursor: null } } }));
  await page.getByRole('link', { name: 'Agents', exact: true }).click();
  const broken = page.getByRole('heading', { name: 'This page could not be shown', level: 1 });
  await expect(broken).toBeVisible();
  await expect(page).toHaveTitle('This page could not be shown · Haft');
  await page.getByRole('link', { name: 'Calls', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Calls', level: 1 })).toBeVisible();

  await page.goBack();
  await expect(broken).toBeVisible();
  await page.unroute('**/api/agents?*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByRole('link', { name: 'sample_assistant', exact: true })).toBeVisible();
});

test('what an updated server no longer has is loaded anew', async ({ console: page, haft }) => {
  const gone = page.getByRole('heading', { name: 'This part of the console could not be loaded', level: 1 });
  for (const [file, path, heading] of [['CallsPage', '/calls', 'Calls'], ['EditTab', '/tools/calculator?tab=definition', 'Calculator']] as const) {
    await page.route(`**/assets/${file}*.js`, (route) => route.fulfill({ status: 404, json: {} }));
    await page.goto(haft.url + path);
    await expect(gone).toBeVisible();
    await page.unroute(`**/assets/${file}*.js`);
    await page.getByRole('button', { name: 'Reload' }).click();
    await expect(page.getByRole('heading', { name: heading, level: 1 })).toBeVisible();
  }
  await page.evaluate(() => localStorage.setItem('haft.language', 'zh'));
  await page.route('**/assets/CallsPage*.js', (route) => route.fulfill({ status: 404, json: {} }));
  await page.goto(`${haft.url}/calls`);
  await page.getByRole('button', { name: '返回概览' }).click();
  await expect(page.getByRole('heading', { name: '欢迎使用 Haft' })).toBeVisible();
});
