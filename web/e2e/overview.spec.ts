// The overview: first steps on a new server, then statistics that link to their calls.
import { expect, type Haft, test } from './support/haft';

test.use({ environment: { HAFT_ALERT_INTERVAL: '100' } });

/** Makes a call, and ignores its result. */
async function call(haft: Haft, tool: string, args: unknown): Promise<void> {
  await haft.api('POST', `/api/tools/${tool}/execute`, { arguments: args }).catch(() => undefined);
}

/** Makes four calls. One of them fails. */
async function fourCalls(haft: Haft): Promise<void> {
  for (const expression of ['1 + 1', '2 + 2', '3 +']) await call(haft, 'calculator', { expression });
  await call(haft, 'datetime', { operation: 'now' });
}

test('a new server leads to a first call', async ({ console: page }) => {
  await expect(page.getByRole('heading', { name: 'Welcome to Haft' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'New tool' })).toHaveAttribute('href', '/tools/new');
  await page.getByRole('link', { name: 'Try the calculator' }).click();
  await expect(page).toHaveURL(/\/tools\/calculator\?tab=try/);
  await page.getByLabel('expression').fill('(10 * 5) + 2');
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByText('52').first()).toBeVisible();

  await page.getByRole('link', { name: 'Overview' }).click();
  await expect(page.getByRole('heading', { name: 'Overview', level: 1 })).toBeVisible();
  await expect(page.getByRole('link', { name: /^Calls 1 / })).toBeVisible();
});

test('numbers and charts show the calls, and link to them', async ({ console: page, haft }) => {
  await fourCalls(haft);
  await page.goto(haft.url);
  await expect(page.getByRole('link', { name: /^Calls 4 / })).toBeVisible();
  const failing = page.getByRole('link', { name: /^Error rate 25% 1 failed/ });
  await expect(failing).toBeVisible();
  for (const title of ['Calls per minute', 'Error rate', 'Latency']) {
    await expect(page.getByRole('figure').filter({ has: page.getByRole('heading', { name: title }) })).toBeVisible();
  }
  await expect(page.getByRole('figure').first()).toContainText('4 calls; at most');
  await expect(page.getByRole('listitem').filter({ hasText: 'Unexpected end of expression' })).toBeVisible();

  await failing.click();
  await expect(page).toHaveURL(/\/calls\?.*status=failed/);
  const rows = page.getByRole('table', { name: 'Calls' }).getByRole('row').filter({ has: page.getByRole('cell') });
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText(['Unexpected end of expression']);
  await page.goBack();
  await page.getByRole('link', { name: /^datetime/ }).first().click();
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText(['datetime']);
});

test('the overview follows calls within the chosen time range', async ({ console: page, haft }) => {
  await fourCalls(haft);
  await page.goto(haft.url);
  await page.getByRole('radio', { name: 'Last 15 minutes' }).click();
  await expect(page).toHaveURL(/window=15m/);
  await expect(page.getByRole('link', { name: /^Calls 4 / })).toBeVisible();
  await call(haft, 'calculator', { expression: '5 + 5' });
  await expect(page.getByRole('link', { name: /^Calls 5 / })).toBeVisible();
  await page.reload();
  await expect(page.getByRole('radio', { name: 'Last 15 minutes' })).toBeChecked();
});

test('a firing alert is at the top of the page while it fires', async ({ console: page, haft }) => {
  await fourCalls(haft);
  await page.goto(haft.url);
  await expect(page.getByRole('link', { name: /^Calls 4 / })).toBeVisible();
  const alert = await haft.api<{ id: string }>('POST', '/api/alerts', { name: 'Calculator fails', metric: 'errorRate', tool: 'calculator', above: 0.1 });
  const firing = page.getByRole('region', { name: 'Firing alerts' });
  await expect(firing).toContainText('Calculator fails');
  await expect(firing).toContainText('33.3%, above 10%');
  await firing.getByRole('link', { name: 'Show the calls' }).click();
  await expect(page).toHaveURL(/tool=calculator/);
  await expect(page).toHaveURL(/status=failed/);

  await page.goBack();
  await expect(firing).toBeVisible();
  await haft.api('DELETE', `/api/alerts/${alert.id}`);
  await expect(firing).toBeHidden();
});

test('task counts are updated live, and link to the tasks', async ({ console: page, haft }) => {
  await fourCalls(haft);
  const mock = (name: string, more: object) => haft.api('POST', '/api/tools', { name, description: 'd', type: 'mock', retryCount: 0, ...more });
  await mock('asks', { policy: 'ask', config: { answers: [{ data: 1 }] } });
  await mock('fails', { config: { answers: [{ error: { kind: 'Execution', message: 'no' } }] } });
  await page.goto(haft.url);
  const now = page.getByRole('region', { name: 'Tasks now' });
  await expect(now.getByRole('link', { name: '0 waiting for approval' })).toBeVisible();
  await haft.api('POST', '/api/tools/asks/execute', {});
  await expect(now.getByRole('link', { name: '1 waiting for approval' })).toBeVisible();
  await haft.api('POST', '/api/tools/fails/execute', { options: { mode: 'async' } });
  await now.getByRole('link', { name: '1 dead letters' }).click();
  await expect(page).toHaveURL(/\/tasks\?.*view=dead/);
  await expect(page.getByText('fails').first()).toBeVisible();
  await page.getByRole('link', { name: /^Approvals/ }).click();
  await expect(page.getByRole('heading', { name: 'asks' })).toBeVisible();
});
