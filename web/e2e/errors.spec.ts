// Pages that cannot be loaded: each says why, and offers a way to continue.
import { expect, test } from './support/haft';

test('a server error shows its message and request id, and can be retried', async ({ console: page, haft }) => {
  const error = { kind: 'Internal', details: {}, requestId: 'req-0815' };
  await page.route('**/api/me', (route) => route.fulfill({ status: 500, json: { code: 500, message: 'the disk is full', data: null, error } }));
  await page.goto(`${haft.url}/tools`);
  await expect(page.getByRole('heading', { name: 'The server returned an error', level: 1 })).toBeVisible();
  await expect(page.getByRole('alert')).toContainText('the disk is full');
  await expect(page.getByText('req-0815')).toBeVisible();
  await page.getByRole('button', { name: 'Copy the request id' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('req-0815');

  await page.unroute('**/api/me');
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByRole('heading', { name: 'Tools', level: 1 })).toBeVisible();
});

test('a failed request is retried once while the server can be reached', async ({ console: page, haft }) => {
  let isReached = false;
  await page.route('**/healthz', (route) => {
    isReached = true;
    return route.continue();
  });
  await page.route('**/api/me', (route) => (isReached ? route.continue() : route.abort()));
  await page.goto(`${haft.url}/agents`);
  await expect(page.getByRole('heading', { name: 'Agents', level: 1 })).toBeVisible({ timeout: 20_000 });
});

test('a request that keeps failing while the server can be reached is reported without a promise to recover', async ({ console: page, haft }) => {
  await page.route('**/api/me', (route) => route.abort());
  await page.goto(`${haft.url}/agents`);
  await expect(page.getByRole('heading', { name: 'The request failed', level: 1 })).toBeVisible({ timeout: 20_000 });
  await expect(page.getByRole('alert')).not.toContainText('by itself');
  await page.evaluate(() => localStorage.setItem('haft.language', 'zh'));
  await page.reload();
  await expect(page.getByRole('heading', { name: '请求失败', level: 1 })).toBeVisible({ timeout: 20_000 });
  await expect(page.getByRole('alert')).not.toContainText('自动打开');
  await page.unroute('**/api/me');
  await page.getByRole('button', { name: '返回概览' }).click();
  await expect(page.getByRole('heading', { name: '欢迎使用 Haft', level: 1 })).toBeVisible();
});

test('a broken page does not affect other pages, and can be retried', async ({ console: page }) => {
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

test('offline, a page not loaded before says so, and opens once the network is back', async ({ console: page, context }) => {
  await page.getByRole('link', { name: 'Tools', exact: true }).click();
  await context.setOffline(true);
  await page.getByRole('link', { name: 'Calls', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'You are offline', level: 1 })).toBeVisible();
  await expect(page.getByRole('alert')).toContainText('no network connection');
  await expect(page.getByText('server was updated')).toBeHidden();
  // Pages that were loaded before still work.
  await page.getByRole('link', { name: 'Tools', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Tools', level: 1 })).toBeVisible();
  await page.getByRole('link', { name: 'Calls', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'You are offline', level: 1 })).toBeVisible();
  await context.setOffline(false);
  await expect(page.getByRole('heading', { name: 'Calls', level: 1 })).toBeVisible();
});

test('an unreachable server is distinguished from an updated one, in both languages, and polled', async ({ console: page, context }) => {
  await page.getByRole('button', { name: '中文' }).click();
  await context.route(/healthz|assets/, (route) => route.abort());
  await page.getByRole('link', { name: '任务', exact: true }).click();
  await expect(page.getByRole('heading', { name: '服务器没有响应', level: 1 })).toBeVisible();
  await context.unroute(/healthz|assets/);
  await expect(page.getByRole('heading', { name: '任务', level: 1 })).toBeVisible();
});

test('a missing file of an updated server reloads the console', async ({ console: page, haft }) => {
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
