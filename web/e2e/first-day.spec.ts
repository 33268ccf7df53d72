// A new server without network access: every empty page leads to the scripted sample, which is marked as no
// model.
import type { Page } from '@playwright/test';

import { expect, test } from './support/haft';

// An Ollama on the machine that runs the test is not discovered.
test.use({ environment: { HAFT_FIND_OLLAMA: 'false' } });

/** Asks a question, and waits for the scripted response after the calculator call. */
async function askSample(page: Page): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill('How much do three cost?');
  await page.getByRole('button', { name: 'Send' }).click();
  await expect(page.getByRole('cell', { name: '71.36' })).toBeVisible();
  await expect(page.getByRole('button', { name: /Done calculator/ })).toHaveCount(3);
}

test('without a provider the settings offer a scripted example', async ({ console: page, haft }) => {
  await page.goto(`${haft.url}/settings?tab=providers`);
  await expect(page.getByText('It is not a model: it follows a script')).toBeVisible();
  await page.getByRole('button', { name: 'Try the scripted example' }).click();
  await expect(page.getByRole('heading', { name: 'Chat with sample' })).toBeVisible();
  await askSample(page);
});

test('the example agent is tried at once, and uses a model as soon as there is one', async ({ console: page, haft, upstream }) => {
  await haft.api('DELETE', '/api/agents/sample_assistant');
  await page.goto(`${haft.url}/agents`);
  await expect(page.getByText('It is not a model, but it really calls the calculator')).toBeVisible();
  await page.getByRole('button', { name: 'Create an example agent' }).click();
  await page.getByRole('button', { name: 'Try this agent' }).click();
  await expect(page.getByRole('heading', { name: 'Chat with assistant' })).toBeVisible();
  await askSample(page);

  upstream.responses = [{ status: 400, body: { error: { message: 'This model is on leave' } } }];
  await haft.api('POST', '/api/providers', { name: 'real', kind: 'openai', baseUrl: `${upstream.url}/v1`, models: ['small'] });
  await page.getByRole('link', { name: 'New chat' }).click();
  await page.getByRole('link', { name: /^assistant/ }).click();
  await page.getByRole('textbox', { name: 'Message' }).fill('And now?');
  await page.getByRole('button', { name: 'Send' }).click();
  await expect(page.getByRole('alert')).toContainText('This model is on leave');
});

test('an agent that can follow the script is used where the sample was started', async ({ console: page, haft }) => {
  await page.goto(`${haft.url}/agents`);
  await page.getByRole('link', { name: 'sample_assistant', exact: true }).click();
  await page.getByRole('button', { name: 'Try this agent' }).click();
  await expect(page.getByRole('heading', { name: 'Add a model' })).toBeVisible();
  await page.getByRole('button', { name: 'Try the sample' }).click();
  await expect(page.getByRole('heading', { name: 'Chat with sample_assistant' })).toBeVisible();
  await askSample(page);
});

test('in Chinese the script is in Chinese', async ({ console: page, haft }) => {
  await page.evaluate(() => localStorage.setItem('haft.language', 'zh'));
  await page.goto(`${haft.url}/chat`);
  await page.getByRole('button', { name: '试用示例' }).click();
  await expect(page.getByRole('heading', { name: '与 sample 对话' })).toBeVisible();
  await page.getByRole('textbox', { name: '消息' }).fill('三件多少钱？');
  await page.getByRole('button', { name: '发送' }).click();
  await expect(page.getByRole('heading', { name: '三件的价格' })).toBeVisible();
  await expect(page.getByRole('cell', { name: '合计' })).toBeVisible();
});
