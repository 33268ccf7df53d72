// Approval links: created by an editor, opened without a session, and used once.
import type { Browser, Page } from '@playwright/test';

import { expect, type Haft, test, type Upstream } from './support/haft';

async function ask(haft: Haft, upstream: Upstream, amount: number): Promise<string> {
  await haft.api('POST', '/api/tools', {
    name: 'pay', description: 'Pays.', type: 'http', policy: 'ask', askWhen: 'amount > 100',
    config: { method: 'POST', url: `${upstream.url}/payments`, body: { amount: '{{amount}}', to: '{{to}}' } },
    inputSchema: {
      type: 'object', required: ['amount'], properties: { amount: { type: 'number', maximum: 1000 }, to: { type: 'object', properties: { name: { type: 'string' } } } },
    },
  });
  const { taskId } = await haft.api<{ taskId: string }>('POST', '/api/tools/pay/execute', { arguments: { amount, to: { name: 'Ada' } } });
  // The call becomes a task before its approval is requested.
  await expect.poll(async () => (await haft.api<{ total: number }>('GET', '/api/approvals')).total).toBe(1);
  return taskId;
}

const linkTo = async (haft: Haft, id: string) => (await haft.api<{ url: string }>('POST', `/api/approvals/${id}/link`, {})).url;

const statusOf = async (haft: Haft, id: string) => (await haft.api<{ status: string }>('GET', `/api/tasks/${id}`)).status;

/** A page in a browser context without a session. */
async function stranger(browser: Browser, options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
  return (await browser.newContext({ viewport: { width: 390, height: 844 }, locale: 'en-US', ...options })).newPage();
}

test('the holder of a link approves with edited arguments, once, without signing in', async ({ console: page, haft, upstream, browser }) => {
  const id = await ask(haft, upstream, 500);
  await page.getByRole('link', { name: 'Approvals 1 waiting' }).click();
  await page.getByRole('article', { name: 'pay' }).getByRole('button', { name: 'Copy link' }).click();
  const dialog = page.getByRole('dialog', { name: 'Link to decide on pay' });
  await expect(dialog).toContainText('The holder of this link can approve or deny the call');
  await dialog.getByRole('button', { name: 'Copy the link' }).click();
  await expect(dialog.getByRole('button', { name: 'Copied' })).toBeVisible();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  expect(link).toContain(`${haft.url}/approve/${id}?sig=`);
  await dialog.getByRole('button', { name: 'Done' }).click();

  const other = await stranger(browser);
  const asked: string[] = [];
  other.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
  await other.goto(link);
  await expect(other.getByRole('heading', { name: 'pay', level: 1 })).toBeVisible();
  await expect(other.getByRole('article')).toContainText('amount > 100');
  await expect(other.getByRole('article')).toContainText('Expires');
  // The signature is removed from the address, and opening the page sends no decision.
  expect(other.url()).toBe(`${haft.url}/approve/${id}`);
  expect(asked.filter((one) => one.includes('/api/'))).toEqual([`GET /api/approvals/${id}`]);
  expect(await statusOf(haft, id)).toBe('waiting');

  // The page can be reloaded.
  await other.reload();
  const amount = other.getByRole('textbox', { name: 'Amount' });
  await expect(amount).toHaveValue('500');
  await other.getByRole('button', { name: 'Edit' }).click();
  await amount.fill('5000');
  await other.getByRole('button', { name: 'Approve as edited' }).click();
  await expect(amount).toHaveAccessibleDescription(/1000/);
  await expect(amount).toBeFocused();
  await amount.fill('300');
  await other.getByRole('textbox', { name: 'Your note' }).fill('by phone');
  await other.getByRole('button', { name: 'Approve as edited' }).click();
  await expect(other.getByRole('heading', { name: 'Approved', exact: true, level: 1 })).toBeVisible();
  await expect(other.getByText('pay continues.')).toBeVisible();
  await expect(other.getByText('by phone')).toBeVisible();
  await expect.poll(() => statusOf(haft, id)).toBe('succeeded');
  expect(upstream.requests.map(({ body }) => JSON.parse(body) as unknown)).toEqual([{ amount: 300, to: { name: 'Ada' } }]);

  await page.goto(`${haft.url}/settings?tab=changes`);
  const change = page.getByRole('listitem').filter({ hasText: 'approved a call of pay' });
  await change.click();
  await expect(change).toContainText(/By linkyes/);
});

test('a link denies, and shows the decision afterwards', async ({ haft, upstream, browser }) => {
  const id = await ask(haft, upstream, 500);
  const link = await linkTo(haft, id);
  const [first, second] = [await stranger(browser), await stranger(browser, { locale: 'zh-CN', colorScheme: 'dark' })];
  await first.goto(link);
  await second.goto(link);
  await expect(second.getByRole('button', { name: '批准' })).toBeVisible();
  await first.getByRole('button', { name: 'Deny' }).click();
  const dialog = first.getByRole('dialog', { name: 'Deny pay?' });
  await dialog.getByRole('textbox').fill('too much');
  await dialog.getByRole('button', { name: 'Deny the call' }).click();
  await expect(first.getByRole('heading', { name: 'Denied', exact: true })).toBeVisible();
  await expect.poll(() => statusOf(haft, id)).toBe('failed');

  await second.getByRole('button', { name: '批准' }).click();
  await expect(second.getByRole('heading', { name: '已拒绝', exact: true })).toBeVisible();
  await expect(second.getByText('too much')).toBeVisible();
  expect(upstream.requests).toEqual([]);
});

test('an invalid link shows an error without a redirect to the login', async ({ haft, upstream, browser }) => {
  const id = await ask(haft, upstream, 500);
  const link = await linkTo(haft, id);
  const page = await stranger(browser);
  for (const bad of [`${link}x`, `${haft.url}/approve/${id}?sig=`, `${haft.url}/approve/no-such-call?sig=abc`]) {
    await page.goto(bad);
    await expect(page.getByRole('heading', { name: 'This link does not work' })).toBeVisible();
    await expect(page.getByText('Ask for a new one.').first()).toBeVisible();
    await expect(page.getByText('500')).toHaveCount(0);
    await expect(page.getByRole('button', { name: 'Approve' })).toHaveCount(0);
  }
  const fresh = await stranger(browser);
  await fresh.goto(`${haft.url}/approve/${id}`);
  await expect(fresh.getByRole('heading', { name: 'This link does not work' })).toBeVisible();
  expect(await statusOf(haft, id)).toBe('waiting');
});

test('a decision by link is reported in the console', async ({ console: page, haft, upstream, browser }) => {
  const id = await ask(haft, upstream, 500);
  const link = await linkTo(haft, id);
  await page.goto(`${haft.url}/approvals`);
  await expect(page.getByRole('article', { name: 'pay' })).toBeVisible();
  // The page does not notice the decision before the button is pressed.
  await page.route('**/api/approvals?*', (route) => route.abort());
  await page.route('**/api/events', (route) => route.abort());
  const other = await stranger(browser);
  await other.goto(link);
  await other.getByRole('button', { name: 'Approve' }).click();
  await expect(other.getByRole('heading', { name: 'Approved', exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByRole('button', { name: 'Deny the call' }).click();
  await expect(page.getByRole('alert').filter({ hasText: 'Approved by a link of admin' })).toBeVisible();
});
