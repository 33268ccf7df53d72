// Model providers: those of the environment are read-only and can be tested; a scripted provider is marked as
// no model.
import { expect, test } from './support/chat';

test('an environment provider is tested, and is read-only', async ({ console: page, haft, model }) => {
  model.replies = [{ text: 'OK' }];
  await page.goto(`${haft.url}/settings?tab=providers`);
  const row = page.getByRole('list', { name: 'Providers' }).getByRole('listitem').filter({ hasText: 'OPENAI_API_KEY' });
  await expect(row).toContainText('Environment');
  await expect(row.getByRole('button', { name: 'Edit openai' })).toHaveCount(0);
  await expect(row.getByRole('button', { name: 'Delete openai' })).toHaveCount(0);
  await row.getByRole('button', { name: 'Test openai' }).click();
  await row.getByRole('button', { name: 'Ask small' }).click();
  await expect(row.getByRole('status')).toContainText('small');
  expect(model.requests.map((request) => request.model)).toEqual(['small']);
});

test('a script is edited in place, and invalid JSON is reported', async ({ console: page, haft }) => {
  await page.goto(`${haft.url}/settings?tab=providers`);
  await page.getByRole('button', { name: 'Add provider' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add provider' });
  await dialog.getByRole('button', { name: /Kind/ }).click();
  await page.getByRole('option', { name: /Scripted/ }).click();
  await expect(dialog).toContainText('Not a model');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('rehearsal');
  const script = dialog.getByRole('textbox', { name: 'Script' });
  await script.press('Control+a');
  await script.press('Delete');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog.getByRole('alert')).toContainText('Not valid JSON');
  await script.fill('[{"text": "A rehearsed answer."}]');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog).toBeHidden();
  const kept = await haft.api<{ script: unknown }>('GET', '/api/providers/rehearsal');
  expect(kept.script).toMatchObject([{ text: 'A rehearsed answer.' }]);
  await page.getByRole('button', { name: 'Edit rehearsal' }).click();
  await expect(page.getByRole('dialog').getByRole('textbox', { name: 'Script' })).toContainText('A rehearsed answer.');
});

test('the model of an agent is chosen from the models of its provider', async ({ console: page, haft }) => {
  await page.goto(`${haft.url}/agents/new`);
  await page.getByRole('button', { name: 'List models' }).click();
  const field = page.getByRole('combobox', { name: 'Model' });
  await field.click();
  await page.getByRole('option', { name: 'small' }).click();
  await expect(field).toHaveValue('small');
});
