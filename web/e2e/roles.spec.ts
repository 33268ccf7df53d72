// Each role is offered only the actions that it may perform.
import type { Page } from '@playwright/test';

import { expect, type Haft, test } from './support/haft';

const PASSWORD = 'correct horse';

/** Signs in as a member of an empty shared space, and opens it. */
async function arrive(page: Page, haft: Haft, role: 'viewer' | 'caller'): Promise<void> {
  const space = await haft.api<{ id: string }>('POST', '/api/spaces', { name: 'Weather team' });
  await haft.api('POST', '/api/users', { name: 'ada', password: PASSWORD });
  await haft.api('PUT', `/api/spaces/${space.id}/members/ada`, { role });
  await page.goto(`${haft.url}/login`);
  await page.getByRole('textbox', { name: 'Name' }).fill('ada');
  await page.getByLabel('Password').and(page.locator('input')).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Personal', exact: true }).click();
  await page.getByRole('menuitemradio', { name: 'Weather team' }).click();
  await expect(page.getByRole('button', { name: 'Weather team', exact: true })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Welcome to Haft' })).toBeVisible();
}

test('a viewer is led to the readable pages', async ({ page, haft }) => {
  await arrive(page, haft, 'viewer');
  const main = page.getByRole('main');
  await expect(main.getByRole('link')).toHaveText(['Show the tools', 'Show the agents']);

  await main.getByRole('link', { name: 'Show the tools' }).click();
  await expect(main.getByRole('link', { name: 'Calculator' })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Create your first tool' })).toBeHidden();
  await main.getByRole('link', { name: 'Calculator' }).click();
  await expect(page.getByText('You can view this tool, but not call it')).toBeVisible();
  await expect(page.getByRole('button', { name: 'More', exact: true })).toBeHidden();

  await page.getByRole('link', { name: 'Calls', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'No calls yet' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Try the calculator' })).toBeHidden();
  await page.getByRole('link', { name: 'Agents', exact: true }).click();
  await expect(page.getByText('Editors of this space can create agents.')).toBeVisible();

  await page.getByRole('link', { name: 'Settings', exact: true }).click();
  await expect(page.getByText('but not call its tools')).toBeVisible();
  await expect(page.getByRole('heading', { name: 'List the tools' })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Call a tool' })).toBeHidden();
  await page.getByRole('button', { name: 'Create a token' }).click();
  const dialog = page.getByRole('dialog', { name: 'New token' });
  await expect(dialog.getByRole('radio')).toHaveCount(1);
  await expect(dialog.getByRole('radio', { name: 'Read' })).toBeChecked();
});

test('a caller is led to a call, and not to creating tools', async ({ page, haft }) => {
  await arrive(page, haft, 'caller');
  await expect(page.getByRole('link', { name: 'New tool' })).toBeHidden();
  await expect(page.getByRole('main').getByRole('listitem')).toHaveCount(3);
  await page.getByRole('link', { name: 'Try the calculator' }).click();
  await page.getByLabel('expression').fill('6 * 7');
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByText('42').first()).toBeVisible();
  await page.getByRole('link', { name: 'Tools', exact: true }).first().click();
  await expect(page.getByRole('link', { name: 'Calculator' })).toBeVisible();
  await expect(page.getByRole('button', { name: /New tool|Import/ })).toHaveCount(0);
});

test('a user removed from their last space can still sign in', async ({ page, haft }) => {
  await arrive(page, haft, 'caller');
  const [space] = (await haft.api<{ items: { id: string; name: string }[] }>('GET', '/api/spaces')).items.filter(({ name }) => name === 'Weather team');
  await haft.api('DELETE', `/api/spaces/${space?.id}?force=true`);
  await page.reload();
  await expect(page.getByRole('button', { name: 'Personal', exact: true })).toBeVisible();
  await page.reload();
  await expect(page.getByRole('heading', { name: 'Welcome to Haft' })).toBeVisible();
});
