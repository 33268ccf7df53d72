// The chat without any model: how to connect one, and the sample that works without.
import { expect, test } from './support/haft';

// An Ollama on the machine that runs the test is not discovered.
test.use({ environment: { HAFT_FIND_OLLAMA: 'false' } });

test('without a model the page explains how to add one, and the sample calls a tool', async ({ console: page }) => {
  await page.getByRole('link', { name: 'Chat', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Add a model' })).toBeVisible();
  await expect(page.getByText('OPENAI_API_KEY')).toBeVisible();
  await expect(page.getByRole('link', { name: 'Add a provider' })).toBeVisible();
  await page.getByRole('button', { name: 'Try the sample' }).click();
  await expect(page.getByRole('heading', { name: 'Chat with sample' })).toBeVisible();
  await page.getByRole('textbox', { name: 'Message' }).fill('How much do three cost?');
  await page.getByRole('button', { name: 'Send' }).click();
  await expect(page.getByText('3 parallel calls')).toBeVisible();
  await expect(page.getByRole('cell', { name: '71.36' })).toBeVisible();
  await expect(page.getByRole('button', { name: /Done calculator/ })).toHaveCount(3);
});
