// Sessions: the one-time link, language, theme and signing out.
import { expect, test } from './support/haft';

test('the one-time link signs in once', async ({ page, haft }) => {
  await page.goto(haft.link);
  await expect(page.getByRole('navigation', { name: 'Pages' })).toBeVisible();
  expect(page.url()).not.toContain('link=');

  await page.context().clearCookies();
  // Leaves the console first, since a refused request would redirect to the login during the test.
  await page.goto('about:blank');
  await page.goto(haft.link);
  await expect(page.getByRole('alert')).toContainText('already used');
});

test('a signed-out user returns to the requested page after the login', async ({ page, haft }) => {
  await page.goto(`${haft.url}/settings?tab=secrets`);
  await page.getByRole('tab', { name: 'Token' }).click();
  await page.getByLabel('Token').and(page.locator('input')).fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('alert')).toContainText('token is invalid');

  await page.getByLabel('Token').and(page.locator('input')).fill(haft.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page).toHaveURL(/\/settings\?tab=secrets/);
});

test('a user who loses the current space continues in the personal space', async ({ console: page, haft }) => {
  const { id } = await haft.api<{ id: string }>('POST', '/api/spaces', { name: 'Team' });
  await page.goto(`${haft.url}/settings?tab=spaces`);
  await page.getByRole('button', { name: 'Open the space Team' }).click();
  await expect(page.getByRole('button', { name: 'Team', exact: true })).toBeVisible();

  await haft.api('DELETE', `/api/spaces/${id}`);
  await page.reload();
  await expect(page.getByRole('button', { name: 'Personal', exact: true })).toBeVisible();
  await page.getByRole('link', { name: 'Tools', exact: true }).click();
  await expect(page.getByRole('link', { name: /calculator/ })).toBeVisible();
});

test('language and theme are persisted; sign out ends the session', async ({ console: page, haft }) => {
  await page.getByRole('button', { name: '中文' }).click();
  await expect(page.getByRole('link', { name: '工具', exact: true })).toBeVisible();
  await page.getByRole('button', { name: '主题' }).click();
  await page.getByRole('menuitemradio', { name: '深色' }).click();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');

  await page.reload();
  await expect(page.getByRole('link', { name: '工具', exact: true })).toBeVisible();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');

  await page.getByRole('button', { name: '退出登录' }).click();
  await expect(page).toHaveURL(/\/login/);
  await page.goto(`${haft.url}/tools`);
  await expect(page).toHaveURL(/\/login/);
});
