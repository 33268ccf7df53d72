// Tool calls in a conversation: in parallel, failed, in the background, and waiting for approval.
import { call, ended, expect, makeGuide, say, test } from './support/chat';
import { Upstream } from './support/haft';
import { gate } from './support/model';

test('parallel calls are shown while they run, with all their details', async ({ console: page, haft, model, upstream }) => {
  const agent = await makeGuide(haft, upstream);
  const slow = gate();
  // A client that made the calls one after the other would wait for the first.
  upstream.responses = [{ status: 200, body: { temperature: 18 }, after: slow.wait }, { status: 200, body: { temperature: 11 } }];
  model.replies = [
    { text: 'Both at once.', calls: [{ name: 'weather', arguments: { city: 'Oslo' } }, { name: 'weather', arguments: { city: 'Bergen' } }] },
    { text: 'Oslo is warmer.' },
  ];
  await page.goto(`${haft.url}/chat?agent=${agent.id}`);
  await say(page, 'Oslo or Bergen?');
  await expect(page.getByText('2 parallel calls')).toBeVisible();
  await expect(page.getByText('1 of 2 done')).toBeVisible();
  await expect(call(page, /Running weather/)).toHaveCount(1);
  slow.open();
  await expect(page.getByText('Oslo is warmer.')).toBeVisible();
  await expect(call(page, /Done weather/)).toHaveCount(2);

  // An expanded card stays in view, although it is at the end of the conversation.
  await expect(ended(page)).toBeVisible();
  await page.setViewportSize({ width: 1280, height: 460 });
  const line = call(page, /city: Oslo/);
  await expect(page.getByText('Oslo is warmer.')).toBeInViewport();
  const place = await line.boundingBox();
  await line.click();
  await expect(page.getByRole('tree', { name: 'Result' })).toBeVisible();
  await expect(page.getByText('Oslo is warmer.')).not.toBeInViewport();
  expect((await line.boundingBox())?.y).toBe(place?.y);
  await page.getByRole('button', { name: 'Jump to latest' }).click();
  await expect(page.getByText('Oslo is warmer.')).toBeInViewport();
  await page.setViewportSize({ width: 1280, height: 800 });
  const card = page.getByRole('group', { name: 'Tool calls' });
  await expect(card.getByRole('tree', { name: 'Arguments' })).toContainText('Oslo');
  await expect(card.getByRole('tree', { name: 'Result' })).toContainText('temperature');
  await card.getByRole('radio', { name: 'Raw' }).click();
  await expect(card.getByRole('region', { name: 'Result' })).toContainText('"temperature"');
  await card.getByRole('link', { name: 'Open in Calls' }).click();
  await expect(page.getByRole('dialog', { name: 'weather' })).toContainText('Oslo');
});

test('a failed call shows its error, and the turn continues', async ({ console: page, haft, model, upstream }) => {
  const agent = await makeGuide(haft, upstream);
  upstream.responses = [{ status: 404, body: { error: 'no such city' } }];
  model.replies = [{ calls: [{ name: 'weather', arguments: { city: 'Nowhere' } }, { name: 'whether', arguments: {} }] }, { text: 'There is no such city.' }];
  await page.goto(`${haft.url}/chat?agent=${agent.id}`);
  await say(page, 'How is Nowhere?');
  await expect(page.getByText('There is no such city.')).toBeVisible();
  const failed = call(page, /Failed weather/);
  await expect(failed).toContainText('Not found');
  await failed.click();
  const card = page.getByRole('group', { name: 'Tool calls' });
  await expect(card.getByRole('alert')).toContainText('404');
  await expect(card.getByRole('link', { name: 'Open in Calls' })).toBeVisible();
  await failed.click();
  // A call that never reached a tool is not logged.
  await call(page, /Failed whether/).click();
  await expect(card.getByRole('alert')).toContainText('There is no tool whether');
  await expect(card.getByRole('link', { name: 'Open in Calls' })).toBeHidden();
});

test('a background call is marked, and its result appears automatically', async ({ console: page, haft, model, upstream }) => {
  const agent = await makeGuide(haft, upstream);
  const made = gate();
  upstream.responses = [{ status: 200, body: { orders: 42 }, after: made.wait }];
  model.replies = [
    { calls: [{ name: 'report', arguments: { month: '2026-10' } }] },
    { text: 'It is being made.' },
    { text: 'There were 42 orders.' },
  ];
  await page.goto(`${haft.url}/chat?agent=${agent.id}`);
  await say(page, 'How was October?');
  await expect(page.getByText('It is being made.')).toBeVisible();
  await expect(call(page, /report/)).toContainText('In the background');
  await page.reload();
  await expect(call(page, /report/)).toContainText('In the background');
  made.open();
  await expect(page.getByText('There were 42 orders.')).toBeVisible({ timeout: 20_000 });
  await expect(page.getByRole('button', { name: /report Result received/ })).toBeVisible();
  await expect(call(page, /Done report/)).toBeVisible();
});

test('running calls show progress, and can be stopped', async ({ console: page, haft, model, upstream }) => {
  await makeGuide(haft, upstream);
  const jobs = await Upstream.start();
  const [more, end, never] = [gate(), gate(), gate()];
  jobs.responses = [
    { status: 202, body: { id: 7, state: 'queued' } }, { status: 200, body: { state: 'working', percent: 40 } },
    { status: 200, body: { state: 'working', percent: 70 }, after: more.wait }, { status: 200, body: { state: 'done' }, after: end.wait },
  ];
  const poll = { url: '/jobs/{{id}}', status: 'state', progress: 'percent', interval: 0.2 };
  await haft.api('POST', '/api/tools', { name: 'render', description: 'Renders.', type: 'http', config: { method: 'POST', url: `${jobs.url}/jobs`, poll }, inputSchema: { type: 'object' } });
  const agent = await haft.api<{ id: string }>('POST', '/api/agents', { name: 'maker', toolIds: ['render', 'weather'] });
  upstream.responses = [{ status: 200, body: {}, after: never.wait }];
  model.replies = [{ calls: [{ name: 'render', arguments: {} }] }, { calls: [{ name: 'weather', arguments: { city: 'Oslo' } }] }, { text: 'Never said.' }];
  await page.goto(`${haft.url}/chat?agent=${agent.id}`);
  await say(page, 'Make it');
  const bar = page.getByRole('group', { name: 'Tool calls' }).getByRole('progressbar');
  await expect(bar).toHaveAttribute('aria-valuenow', '40');
  more.open();
  await expect(bar).toHaveAttribute('aria-valuenow', '70');
  end.open();
  await expect(call(page, /Done render/)).toBeVisible();
  await expect(call(page, /Running weather/)).toBeVisible();
  await page.getByRole('button', { name: 'Stop' }).click();
  await expect(page.getByText('Stopped.')).toBeVisible();
  await expect(call(page, /Failed weather/)).toContainText('Cancelled');
  await expect(call(page, /Done render/)).toBeVisible();
  await expect(page.getByText('Never said.')).toBeHidden();
  never.open();
  await jobs.stop();
});

test('a waiting call is edited and approved inside the conversation', async ({ console: page, haft, model, upstream }) => {
  const agent = await makeGuide(haft, upstream);
  model.replies = [{ calls: [{ name: 'pay', arguments: { amount: 500 } }] }, { text: 'It is paid.' }];
  await page.goto(`${haft.url}/chat?agent=${agent.id}`);
  await say(page, 'Pay 500');
  const card = page.getByRole('group', { name: 'Tool calls' });
  await expect(card).toContainText('Needs approval.');
  await expect(card.getByRole('textbox', { name: 'Amount' })).toHaveValue('500');
  await card.getByRole('button', { name: 'Edit' }).click();
  await card.getByRole('textbox', { name: 'Amount' }).fill('300');
  await card.getByRole('button', { name: 'Approve as edited' }).press('Enter');
  await expect(call(page, /pay/)).toBeFocused();
  await expect(page.getByText('It is paid.')).toBeVisible({ timeout: 20_000 });
  expect(upstream.requests.map(({ body }) => JSON.parse(body) as unknown)).toEqual([{ amount: 300 }]);
  await expect(page.getByRole('link', { name: 'Approvals', exact: true })).toBeVisible();
});

test('a call is denied with a reason, which the agent receives', async ({ console: page, haft, model, upstream }) => {
  const agent = await makeGuide(haft, upstream);
  model.replies = [{ calls: [{ name: 'pay', arguments: { amount: 500 } }] }, { text: 'Then not.' }];
  await page.goto(`${haft.url}/chat?agent=${agent.id}`);
  await say(page, 'Pay 500');
  await page.getByRole('button', { name: 'Deny' }).click();
  const dialog = page.getByRole('dialog', { name: 'Deny pay?' });
  await dialog.getByRole('textbox').fill('paid in May already');
  await dialog.getByRole('button', { name: 'Deny the call' }).press('Enter');
  await expect(call(page, /pay/)).toBeFocused();
  await expect(page.getByText('Then not.')).toBeVisible({ timeout: 20_000 });
  await expect(ended(page)).toBeVisible();
  await expect(call(page, /Failed pay/)).toContainText('Denied');
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('paid in May already');
  expect(upstream.requests).toEqual([]);
});

test('the focus returns to the call when the result arrives before the response to the denial', async ({ console: page, haft, model, upstream }) => {
  const agent = await makeGuide(haft, upstream);
  model.replies = [{ calls: [{ name: 'pay', arguments: { amount: 500 } }] }, { text: 'Then not.' }];
  const told = gate();
  await page.route('**/api/approvals/*', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    const response = await route.fetch();
    await told.wait;
    return route.fulfill({ response });
  });
  await page.goto(`${haft.url}/chat?agent=${agent.id}`);
  await say(page, 'Pay 500');
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByRole('dialog', { name: 'Deny pay?' }).getByRole('button', { name: 'Deny the call' }).press('Enter');
  await expect(page.getByText('Then not.')).toBeVisible({ timeout: 20_000 });
  await expect(page.getByRole('dialog')).toBeHidden();
  await expect(call(page, /Failed pay/)).toBeFocused();
  const decided = page.waitForResponse((response) => response.request().method() === 'POST' && response.url().includes('/api/approvals/'));
  told.open();
  await decided;
  await expect(call(page, /Failed pay/)).toBeFocused();
});
