// The first day: no model anywhere. The page says how to have one, and its sample works without any.
import { expect, test } from './support/haft';

// Nothing is found on the machine that runs the test, either.
test.use({ environment: { HAFT_FIND_OLLAMA: 'false' } });

test('without a model the page says how to have one, and the sample calls a tool all the same', async ({ console: page }) => {
  await page.getByRole('link', { name: 'Chat', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'First, a model' })).toBeVisible();
  await expect(page.getByText('OPENAI_API_KEY')).toBeVisible();
  await expect(page.getByRole('link', { name: 'Add a provider' })).toBeVisible();
  await page.getByRole('button', { name: 'Try the sample' }).click();
  await expect(page.getByRole('heading', { name: 'Talk to sample' })).toBeVisible();
  await page.getByRole('textbox', { name: 'Message' }).fill('What do three cost?');
  await page.getByRole('button', { name: 'Send' }).click();
  await expect(page.getByText('3 calls at once')).toBeVisible();
  await expect(page.getByRole('cell', { name: '71.36' })).toBeVisible();
  await expect(page.getByRole('button', { name: /Done calculator/ })).toHaveCount(3);
});
