// Tasks: live status, cancel, retry, and recording the outcome of an unknown one.
import type { Page } from '@playwright/test';

import { expect, type Haft, test, type Upstream } from './support/haft';

interface Accepted {
  taskId: string;
}

async function make(haft: Haft, upstream: Upstream, name: string, method: 'GET' | 'POST'): Promise<void> {
  await haft.api('POST', '/api/tools', { name, description: 'Makes a report.', type: 'http', config: { method, url: `${upstream.url}/${name}` } });
}

const take = async (haft: Haft, tool: string, options: object = {}) => (
  (await haft.api<Accepted>('POST', `/api/tools/${tool}/execute`, { arguments: {}, options: { mode: 'async', ...options } })).taskId
);

/** Delays the responses of the upstream until the returned function is called. */
function delayResponses(upstream: Upstream, body: unknown): () => void {
  let answer = () => {};
  upstream.responses = [{ status: 200, body, after: new Promise<void>((done) => (answer = done)) }];
  return () => answer();
}

const rowOf = (page: Page, tool: string) => page.getByRole('row').filter({ hasText: tool });

test('a task runs and ends, and links to its call', async ({ console: page, haft, upstream }) => {
  await make(haft, upstream, 'report', 'GET');
  const answer = delayResponses(upstream, { pages: 12 });
  await page.getByRole('link', { name: 'Tasks', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'No tasks yet' })).toBeVisible();

  await take(haft, 'report');
  await page.reload();
  await expect(rowOf(page, 'report')).toContainText('Running');
  await page.getByRole('radio', { name: 'Failed' }).click();
  await expect(page.getByRole('heading', { name: 'No matching tasks' })).toBeVisible();
  await page.getByRole('button', { name: 'Show all tasks' }).click();

  await rowOf(page, 'report').getByRole('link', { name: 'report' }).click();
  const drawer = page.getByRole('dialog', { name: 'report' });
  await expect(drawer.getByRole('status')).toHaveText('Running');
  answer();
  await expect(drawer.getByRole('status')).toHaveText('Succeeded');
  await expect(drawer.getByRole('tree', { name: 'Result' })).toContainText('12');
  await expect(drawer.getByRole('button', { name: 'Cancel task' })).toBeHidden();

  await drawer.getByRole('button', { name: 'Close' }).click();
  await expect(rowOf(page, 'report')).toContainText('Succeeded');
  await expect(page.getByRole('link', { name: 'report' })).toBeFocused();
  await page.keyboard.press('Enter');
  await drawer.getByRole('link', { name: 'Open in Calls' }).click();
  await expect(page).toHaveURL(/\/calls\?/);
  await expect(page.getByRole('dialog', { name: 'report' })).toContainText('Success');
});

test('a delayed task is cancelled and retried', async ({ console: page, haft, upstream }) => {
  await make(haft, upstream, 'report', 'GET');
  const id = await take(haft, 'report', { delay: 3600 });
  await page.goto(`${haft.url}/tasks?view=waiting`);
  await expect(rowOf(page, 'report')).toContainText(/Starts in \d+ minutes/);
  await rowOf(page, 'report').getByRole('link').click();
  const drawer = page.getByRole('dialog', { name: 'report' });
  await drawer.getByRole('button', { name: 'Cancel task' }).click();
  const question = page.getByRole('dialog', { name: 'Cancel this task?' });
  await question.getByRole('button', { name: 'Keep it' }).click();
  await expect(drawer.getByRole('status')).toHaveText('Queued');

  await drawer.getByRole('button', { name: 'Cancel task' }).click();
  await question.getByRole('button', { name: 'Cancel task' }).click();
  await expect(drawer.getByRole('status')).toHaveText('Cancelled');
  expect(upstream.requests).toEqual([]);

  await drawer.getByRole('button', { name: 'Try again' }).click();
  await expect(drawer.getByRole('status')).toHaveText('Succeeded');
  expect((await haft.api<{ status: string }>('GET', `/api/tasks/${id}`)).status).toBe('succeeded');
  expect(upstream.requests).toHaveLength(1);
});

test('a person records the outcome of a write whose result is unknown', async ({ console: page, haft, upstream }) => {
  await make(haft, upstream, 'order', 'POST');
  delayResponses(upstream, {});
  const id = await take(haft, 'order');
  await expect.poll(() => upstream.requests.length).toBe(1);
  await page.goto(`${haft.url}/tasks?task=${id}`);
  const drawer = page.getByRole('dialog', { name: 'order' });
  await drawer.getByRole('button', { name: 'Cancel task' }).click();
  await page.getByRole('dialog', { name: 'Cancel this task?' }).getByRole('button', { name: 'Cancel task' }).click();
  await expect(drawer.getByRole('status')).toHaveText('Unknown');

  // A retry that may repeat the write needs a confirmation, and is cancelled here.
  await drawer.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('dialog', { name: 'Try it again?' }).getByRole('button', { name: 'Not now' }).click();

  await drawer.getByRole('button', { name: 'Resolve' }).click();
  const dialog = page.getByRole('dialog', { name: 'Record the outcome' });
  const data = dialog.getByRole('textbox', { name: /Result of the tool/ });
  await data.fill('{"orderId": ');
  await expect(dialog.getByText('Not valid JSON.')).toBeVisible();
  await expect(dialog.getByRole('button', { name: 'Resolve' })).toBeDisabled();
  await data.fill('{"orderId": 7}');
  await dialog.getByRole('button', { name: 'Resolve' }).click();
  await expect(drawer.getByRole('status')).toHaveText('Succeeded');
  await expect(drawer.getByRole('tree', { name: 'Result' })).toContainText('orderId');
  expect(upstream.requests).toHaveLength(1);
  const task = await haft.api<{ result: { data: unknown } }>('GET', `/api/tasks/${id}`);
  expect(task.result.data).toEqual({ orderId: 7 });
});
