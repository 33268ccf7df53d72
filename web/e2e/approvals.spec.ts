// Approvals: reading, editing, approving and denying a waiting call, once, and only with permission.
import type { Page } from '@playwright/test';

import { expect, type Haft, test, type Upstream } from './support/haft';

const PASSWORD = 'correct horse';

async function makePay(haft: Haft, upstream: Upstream, token = haft.token): Promise<void> {
  await post(haft, token, '/api/tools', {
    name: 'pay', description: 'Pays.', type: 'http', policy: 'ask', askWhen: 'amount > 100',
    config: { method: 'POST', url: `${upstream.url}/payments`, body: { amount: '{{amount}}' } },
    inputSchema: { type: 'object', required: ['amount'], properties: { amount: { type: 'number', maximum: 1000 } } },
  });
}

/** Sends a POST request in the space of a token. */
async function post<T>(haft: Haft, token: string, path: string, body: unknown): Promise<T> {
  const answer = await fetch(haft.url + path, {
    method: 'POST', body: JSON.stringify(body),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  });
  const said = (await answer.json()) as { data: T };
  expect(answer.ok, JSON.stringify(said)).toBe(true);
  return said.data;
}

const askFor = async (haft: Haft, amount: number, token = haft.token) => (
  (await post<{ taskId: string }>(haft, token, '/api/tools/pay/execute', { arguments: { amount } })).taskId
);

const statusOf = async (haft: Haft, id: string) => (await haft.api<{ status: string }>('GET', `/api/tasks/${id}`)).status;

const cards = (page: Page) => page.getByRole('article', { name: 'pay' });

test('edited arguments are validated, and sent once', async ({ console: page, haft, upstream }) => {
  await makePay(haft, upstream);
  const id = await askFor(haft, 500);
  // The navigation shows the number of waiting approvals on every page.
  await page.getByRole('link', { name: 'Approvals 1 waiting' }).click();
  const card = cards(page);
  await expect(card).toContainText('amount > 100');
  await expect(card).toContainText('Write');
  await expect(card).toContainText('Expires');
  const amount = card.getByRole('textbox', { name: 'Amount' });
  await expect(amount).toHaveValue('500');
  await expect(amount).toBeDisabled();

  await card.getByRole('button', { name: 'Edit' }).click();
  await amount.fill('5000');
  await card.getByRole('button', { name: 'Approve as edited' }).click();
  await expect(amount).toHaveAccessibleDescription(/1000/);
  await expect(amount).toHaveAttribute('aria-invalid', 'true');
  await expect(amount).toBeFocused();
  expect(upstream.requests).toEqual([]);
  expect(await statusOf(haft, id)).toBe('waiting');

  await amount.fill('300');
  await card.getByRole('textbox', { name: 'Your note' }).fill('less will do');
  await card.getByRole('button', { name: 'Approve as edited' }).click();
  await expect(page.getByRole('heading', { name: 'No waiting approvals' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'Approvals', exact: true })).toBeVisible();
  await expect.poll(() => statusOf(haft, id)).toBe('succeeded');
  expect(upstream.requests.map(({ body }) => JSON.parse(body) as unknown)).toEqual([{ amount: 300 }]);
  const kept = await haft.api<{ decision: { note: string } }>('GET', `/api/approvals/${id}`);
  expect(kept.decision.note).toBe('less will do');
});

test('an approval is denied with a note by keyboard, and the next one gets the focus', async ({ console: page, haft, upstream }) => {
  await makePay(haft, upstream);
  const first = await askFor(haft, 900);
  const second = await askFor(haft, 200);
  await page.goto(`${haft.url}/approvals`);
  await expect(cards(page)).toHaveCount(2);
  await cards(page).first().getByRole('button', { name: 'Deny' }).focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Deny pay?' });
  await expect(dialog.getByRole('textbox')).toBeFocused();
  await page.keyboard.type('too much');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expect(cards(page)).toHaveCount(1);
  await expect(cards(page)).toBeFocused();
  await expect(page.getByText('Denied: pay is not called.')).toBeVisible();
  await expect.poll(() => statusOf(haft, first)).toBe('failed');

  await cards(page).getByRole('button', { name: 'Approve' }).click();
  await expect(page.getByRole('heading', { name: 'No waiting approvals' })).toBeVisible();
  await expect.poll(() => statusOf(haft, second)).toBe('succeeded');
  expect(upstream.requests).toHaveLength(1);
  await page.goto(`${haft.url}/tasks?task=${first}`);
  await expect(page.getByRole('dialog', { name: 'pay' })).toContainText('pay was not approved: too much');
});

test('an approval decided elsewhere shows that decision and is removed', async ({ console: page, haft, upstream }) => {
  await makePay(haft, upstream);
  const id = await askFor(haft, 500);
  await page.goto(`${haft.url}/approvals`);
  await expect(cards(page)).toBeVisible();
  // The page does not notice the decision before the button is pressed.
  await page.route('**/api/approvals?*', (route) => route.abort());
  await haft.api('POST', `/api/approvals/${id}`, { decision: 'deny' });
  await page.getByRole('button', { name: 'Approve' }).click();
  await expect(page.getByRole('alert').filter({ hasText: 'decided already' })).toBeVisible();
  await expect(cards(page)).toHaveCount(0);
  expect(upstream.requests).toEqual([]);
});

test('a caller sees waiting approvals, and cannot decide', async ({ page, haft, upstream }) => {
  const space = await haft.api<{ id: string }>('POST', '/api/spaces', { name: 'Paying team' });
  await haft.api('POST', '/api/users', { name: 'ada', password: PASSWORD });
  await haft.api('PUT', `/api/spaces/${space.id}/members/ada`, { role: 'caller' });
  const { token } = await haft.api<{ token: string }>('POST', '/api/tokens', { name: 'payer', spaceId: space.id });
  await makePay(haft, upstream, token);
  await askFor(haft, 500, token);
  await page.goto(`${haft.url}/login`);
  await page.getByRole('textbox', { name: 'Name' }).fill('ada');
  await page.getByLabel('Password').and(page.locator('input')).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Personal', exact: true }).click();
  await page.getByRole('menuitemradio', { name: 'Paying team' }).click();
  await page.getByRole('link', { name: 'Approvals 1 waiting' }).click();
  await expect(cards(page)).toContainText('Editors of this space decide.');
  await expect(cards(page).getByRole('textbox', { name: 'Amount' })).toHaveValue('500');
  for (const name of ['Approve', 'Deny', 'Edit']) await expect(page.getByRole('button', { name })).toBeHidden();
});

test('a tool asks only if its condition holds, and an invalid condition is reported at its field', async ({ console: page, haft, upstream }) => {
  await haft.api('POST', '/api/tools', {
    name: 'pay', description: 'Pays.', type: 'http', config: { method: 'POST', url: `${upstream.url}/payments`, body: { amount: '{{amount}}' } },
  });
  await page.goto(`${haft.url}/tools/pay?tab=definition`);
  await page.getByRole('tab', { name: 'Safety' }).click();
  const condition = page.getByRole('textbox', { name: 'Ask only when' });
  await expect(condition).toBeHidden();
  await page.getByRole('button', { name: /When an agent calls it/ }).click();
  await page.getByRole('option', { name: 'Ask for approval' }).click();
  await condition.fill('amount >');
  await expect(condition).toHaveAttribute('aria-invalid', 'true');
  await condition.fill('amount > 50');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect.poll(async () => (await haft.api<{ askWhen: string | null }>('GET', '/api/tools/pay')).askWhen).toBe('amount > 50');
});

test('an agent asks about a tool only if the condition of its binding holds', async ({ console: page, haft, upstream }) => {
  const tool = await haft.api<{ id: string }>('POST', '/api/tools', {
    name: 'pay', description: 'Pays.', type: 'http', config: { method: 'POST', url: `${upstream.url}/payments`, body: { amount: '{{amount}}' } },
  });
  const { id } = await haft.api<{ id: string }>('POST', '/api/agents', { name: 'buyer', description: 'Buys.', toolIds: [tool.id] });
  await page.goto(`${haft.url}/agents/${id}`);
  const drawer = page.getByRole('dialog', { name: 'pay' });
  const condition = drawer.getByRole('textbox', { name: 'Ask only when' });
  await page.getByRole('button', { name: 'Configure pay' }).click();
  await drawer.getByRole('button', { name: 'Version, policy and limits' }).click();
  await expect(condition).toBeHidden();
  await drawer.getByRole('button', { name: /Policy/ }).last().click();
  await page.getByRole('option', { name: 'Ask first' }).click();
  await condition.fill('amount >');
  await drawer.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Not saved: one field needs attention.')).toBeVisible();

  await page.getByRole('button', { name: 'Configure pay' }).click();
  await expect(condition).toHaveAttribute('aria-invalid', 'true');
  await condition.fill('amount > 20');
  await drawer.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  const asked = async () => (await haft.api<{ bindings: { askWhen?: string | null }[] }>('GET', `/api/agents/${id}`)).bindings[0]?.askWhen;
  await expect.poll(asked).toBe('amount > 20');
});
