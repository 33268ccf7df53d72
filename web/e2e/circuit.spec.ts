// Open circuit breakers: shown and closed on the overview, on pages of tools and beside refused calls.
import type { Page } from '@playwright/test';

import { expect, type Haft, test, Upstream } from './support/haft';

/** Creates a tool without retries, and returns its id. */
async function makeTool(haft: Haft, name: string, url: string): Promise<string> {
  const { id } = await haft.api<{ id: string }>('POST', '/api/tools', {
    name, description: 'Gives the weather.', type: 'http', config: { url }, retryCount: 0,
  });
  return id;
}

/** Calls a tool that keeps failing until a circuit breaker refuses its calls. */
async function openCircuit(haft: Haft, tool: string): Promise<void> {
  await expect.poll(async () => {
    const answer = await fetch(`${haft.url}/api/tools/${tool}/execute`, {
      method: 'POST', headers: { authorization: `Bearer ${haft.token}`, 'content-type': 'application/json' }, body: '{"arguments": {}}',
    });
    return ((await answer.json()) as { error?: { kind: string } }).error?.kind;
  }, { intervals: [20] }).toBe('CircuitOpen');
}

const openKeys = async (haft: Haft) => (await haft.api<{ openCircuits: string[] }>('GET', '/api/stats')).openCircuits;

const circuits = (page: Page) => page.getByRole('region', { name: 'Open circuit breakers' });
const closeNow = /^Close it now/;

test('the overview closes the circuit breaker of a tool', async ({ console: page, haft, upstream }) => {
  upstream.responses = [{ status: 503, body: {} }];
  await makeTool(haft, 'get_weather', `${upstream.url}/weather`);
  await openCircuit(haft, 'get_weather');
  await page.goto(haft.url);
  await expect(circuits(page)).toContainText(`get_weather at ${upstream.url} is paused because its own calls kept failing (last failure: Server).`);
  await circuits(page).getByRole('link', { name: 'Failed calls of get_weather' }).click();
  await expect(page.getByRole('table', { name: 'Calls' }).getByRole('link', { name: 'get_weather' }).first()).toBeVisible();
  await page.goBack();

  upstream.responses = [{ status: 200, body: { city: 'Oslo' } }];
  await circuits(page).getByRole('button', { name: `Close it now: get_weather at ${upstream.url}` }).click();
  await expect(circuits(page)).toBeHidden();
  await haft.api('POST', '/api/tools/get_weather/execute', { arguments: {} });
});

test('failed connections open the circuit breaker of an origin, and each tool page names the tools that caused it', async ({ console: page, haft }) => {
  const gone = await Upstream.start();
  await gone.stop();
  await makeTool(haft, 'get_weather', `${gone.url}/weather`);
  const other = await makeTool(haft, 'get_tide', `${gone.url}/tide`);
  await openCircuit(haft, 'get_weather');
  expect(await openKeys(haft)).toEqual([`get_weather at ${gone.url}`, gone.url]);

  await page.goto(`${haft.url}/tools/${other}`);
  await expect(circuits(page)).toContainText(`${gone.url} is paused because connections to it kept failing in calls of get_weather.`);
  await expect(circuits(page)).not.toContainText(`get_weather at ${gone.url}`);
  await circuits(page).getByRole('button', { name: closeNow }).click();
  await expect(circuits(page)).toBeHidden();
  expect(await openKeys(haft)).toEqual([`get_weather at ${gone.url}`]);
});

test('a circuit breaker is closed beside a refused call and on the page of its tool', async ({ console: page, haft, upstream }) => {
  upstream.responses = [{ status: 503, body: {} }];
  const id = await makeTool(haft, 'get_weather', `${upstream.url}/weather`);
  await openCircuit(haft, id);
  await page.goto(`${haft.url}/calls?kind=CircuitOpen`);
  await page.getByRole('row', { name: /get_weather/ }).first().click();
  const call = page.getByRole('dialog');
  await expect(call).toContainText(`get_weather at ${upstream.url} is paused`);
  await call.getByRole('button', { name: closeNow }).click();
  await expect(call).toContainText('Closed. Calls are allowed again.');
  expect(await openKeys(haft)).toEqual([]);
  // The call was refused by a circuit breaker that is closed now, so there is nothing to close.
  await page.reload();
  await expect(call).toContainText(`get_weather at ${upstream.url} is paused`);
  await expect(call.getByRole('button', { name: closeNow })).toHaveCount(0);

  await openCircuit(haft, id);
  await page.goto(`${haft.url}/tools/${id}`);
  await expect(circuits(page)).toBeVisible();
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('tabpanel').getByRole('button', { name: closeNow }).click();
  await expect(page.getByRole('tabpanel')).toContainText('Closed. Calls are allowed again.');
  await expect(circuits(page)).toBeHidden();
  expect(await openKeys(haft)).toEqual([]);

  await openCircuit(haft, id);
  await page.reload();
  await circuits(page).getByRole('button', { name: closeNow }).click();
  await expect(circuits(page)).toBeHidden();
  expect(await openKeys(haft)).toEqual([]);
});
