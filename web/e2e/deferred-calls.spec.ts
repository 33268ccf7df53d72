// Deferred calls: polling and callbacks are configured in the form, and the call returns the final result.
import type { Page } from '@playwright/test';

import { expect, test } from './support/haft';

const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true });

async function choose(page: Page, select: RegExp, option: RegExp): Promise<void> {
  await page.getByRole('button', { name: select }).click();
  await page.getByRole('option', { name: option }).click();
}

test('a polled tool is created in the form, and returns the result of the finished job', async ({ console: page, haft, upstream }) => {
  upstream.responses = [
    { status: 202, body: { id: 'job 7', state: 'queued' } },
    { status: 200, body: { state: 'working', percent: 40 } },
    { status: 200, body: { state: 'archived', output: { answer: 42 } } },
  ];
  await page.goto(`${haft.url}/tools/new`);
  await field(page, 'Name').fill('render_video');
  await field(page, 'Description').fill('Renders a video. Use it when a user wants to see one.');
  await choose(page, /Method/, /POST/);
  await field(page, 'URL').fill(`${upstream.url}/jobs?n={{n}}`);
  await page.getByRole('tab', { name: 'Response' }).click();
  await expect(field(page, 'Status URL')).toBeHidden();
  await choose(page, /Result mode/, /Polling/);
  await field(page, 'Status URL').fill('/jobs/{{id}}');
  await field(page, 'Result').fill('output');
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await field(page, 'Done when').fill('finished, archived');
  await field(page, 'Progress').fill('percent');
  await field(page, 'Poll interval, in seconds').fill('0.2');
  // A status text requires the field in which it is found.
  await page.getByRole('button', { name: 'Create tool' }).click();
  await expect(field(page, 'Done when')).toHaveAccessibleDescription(/status does not say where/);
  // The form moves the focus to the first invalid field.
  await expect(field(page, 'Done when')).toBeFocused();
  await field(page, 'Status').fill('state');
  await expect(field(page, 'Done when')).not.toHaveAttribute('aria-invalid', 'true');
  await page.getByRole('button', { name: 'Create tool' }).click();

  await expect(page.getByRole('heading', { name: 'render_video', level: 1 })).toBeVisible();
  await expect(page.getByText('Asynchronous: polls every 0.2 s')).toBeVisible();
  const { config } = await haft.api<{ config: { poll: unknown } }>('GET', '/api/tools/render_video');
  expect(config.poll).toEqual({
    url: '/jobs/{{id}}', status: 'state', result: 'output', done: ['finished', 'archived'], progress: 'percent', interval: 0.2,
  });
  await field(page, 'N').fill('1');
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByRole('tree', { name: 'Result' })).toContainText('42');
  expect(upstream.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(['POST /jobs?n=1', 'GET /jobs/job%207', 'GET /jobs/job%207']);
});

test('errors are shown at their fields, also collapsed ones, and other input is kept', async ({ console: page, haft }) => {
  const poll = { url: '/jobs/{{id}}', status: 'state', done: 'state = 7', failed: ['broken, permanently'], timeout: 60 };
  await haft.api('POST', '/api/tools', {
    name: 'job', description: 'Works.', type: 'http', config: { url: 'https://api.example.com/jobs', method: 'POST', poll, responseFilter: 'a' },
  });
  await page.goto(`${haft.url}/tools/job?tab=definition`);
  await page.getByRole('tab', { name: 'Response' }).click();
  await expect(field(page, 'Done when')).toHaveValue('state = 7');
  await expect(page.getByRole('radiogroup', { name: 'Done when: type of condition' }).getByRole('radio', { name: 'Condition' })).toBeChecked();
  await field(page, 'Done when').fill('state >');
  await expect(field(page, 'Done when')).toHaveAttribute('aria-invalid', 'true');
  await field(page, 'Done when').fill('state > 7');
  await field(page, 'Status').fill('state[');
  await expect(field(page, 'Status')).toHaveAccessibleDescription(/JMESPath/);
  await field(page, 'Status').fill('standing');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const kept = async () => (await haft.api<{ config: { poll: unknown; responseFilter: string } }>('GET', '/api/tools/job')).config;
  await expect.poll(async () => (await kept()).poll).toEqual({ ...poll, status: 'standing', done: 'state > 7' });

  await choose(page, /Result mode/, /Immediate/);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect.poll(async () => 'poll' in (await kept())).toBe(false);
  expect((await kept()).responseFilter).toBe('a');
});

test('a callback tool is created in the form, and returns the callback body', async ({ console: page, haft, upstream }) => {
  upstream.responses = [{ status: 202, body: { accepted: true } }];
  await haft.api('POST', '/api/tools', { name: 'transcribe', description: 'Writes down speech.', type: 'http', config: { url: `${upstream.url}/jobs`, method: 'POST' } });
  await page.goto(`${haft.url}/tools/transcribe?tab=definition`);
  await page.getByRole('tab', { name: 'Response' }).click();
  await choose(page, /Result mode/, /Callback/);
  await field(page, 'Status').fill('status');
  await field(page, 'Result').fill('text');
  // The callback address is not used in the request yet.
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByRole('tabpanel', { name: 'Response' })).toContainText('the request does not use callbackUrl');
  await page.getByRole('region', { name: 'Callback address' }).locator('..').getByRole('button', { name: 'Copy' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('{{callbackUrl}}');
  await page.getByRole('tab', { name: 'Params' }).click();
  await page.getByRole('group', { name: 'Query parameters' }).getByRole('button', { name: 'Add' }).click();
  await field(page, 'Name 1').fill('notify');
  await field(page, 'Value 1').fill('{{callbackUrl}}');
  await page.getByRole('tab', { name: 'Response' }).click();
  await expect(page.getByText('The request has the address')).toBeVisible();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByText('Asynchronous: callback')).toBeVisible();

  await page.getByRole('tab', { name: 'Try it' }).click();
  await page.getByRole('button', { name: 'Run' }).click();
  await expect.poll(() => upstream.requests.length).toBe(1);
  const address = new URL(upstream.requests[0]?.url ?? '', upstream.url).searchParams.get('notify') ?? '';
  const told = await fetch(address, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ status: 'done', text: { said: 'hello' } }) });
  expect(told.status).toBe(200);
  await expect(page.getByRole('tree', { name: 'Result' })).toContainText('hello');
});
