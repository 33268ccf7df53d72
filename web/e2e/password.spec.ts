// A server admin without a password sees a form on the first page, and a reminder until it is set.
import { expect, test } from './support/haft';

const PASSWORD = 'correct horse battery';

test('the first page asks for a password, which is set without signing in again', async ({ page, haft }) => {
  await page.goto(haft.link);
  const main = page.getByRole('main');
  await expect(main.getByRole('heading', { name: 'Set a password' })).toBeVisible();
  await expect(page.getByRole('region', { name: 'Set a password' })).toBeHidden();
  await page.getByLabel('New password').fill('short');
  await page.getByLabel('Repeat password').fill('short');
  await page.getByRole('button', { name: 'Set password' }).click();
  await expect(page.getByLabel('New password')).toHaveAccessibleDescription(/8/);
  await page.getByLabel('New password').fill(PASSWORD);
  await page.getByLabel('Repeat password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Set password' }).click();
  await expect(main.getByRole('heading', { name: 'Set a password' })).toBeHidden();
  await expect(page.getByRole('heading', { name: 'Welcome to Haft' })).toBeVisible();
  await page.getByRole('link', { name: 'Tools', exact: true }).click();
  await expect(page.getByRole('link', { name: /calculator/ })).toBeVisible();
  await page.reload();
  await expect(page.getByRole('link', { name: /calculator/ })).toBeVisible();
  await expect(page.getByText('You have no password.')).toBeHidden();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('admin');
  await page.getByLabel('Password').and(page.locator('input')).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('heading', { name: 'Welcome to Haft' })).toBeVisible();
});

test('after skipping, every page shows a reminder until a password is set, in both languages', async ({ page, haft }) => {
  await page.goto(haft.link);
  await page.getByRole('button', { name: 'Skip for now' }).click();
  const banner = page.getByRole('region', { name: 'Set a password' });
  await expect(banner).toContainText('You have no password.');
  await page.reload();
  await expect(banner).toBeVisible();
  await page.getByRole('button', { name: '中文' }).click();
  await page.getByRole('link', { name: '工具', exact: true }).click();
  const chinese = page.getByRole('region', { name: '设置密码' });
  await expect(chinese).toContainText('你还没有密码。');
  await chinese.getByRole('button', { name: '设置密码' }).click();
  const dialog = page.getByRole('dialog', { name: '设置密码' });
  await dialog.getByLabel('新密码').fill(PASSWORD);
  await dialog.getByLabel('再次输入').fill(PASSWORD);
  await dialog.getByRole('button', { name: '设置密码' }).click();
  await expect(dialog).toBeHidden();
  await expect(chinese).toBeHidden();
  await page.getByRole('link', { name: '任务', exact: true }).click();
  await expect(page.getByRole('heading', { name: '任务', level: 1 })).toBeVisible();
});

test('users who are no server admins are not asked', async ({ page, haft }) => {
  const { id } = await haft.api<{ id: string }>('POST', '/api/users', { name: 'ada', password: PASSWORD });
  await page.goto(`${haft.url}/login`);
  await page.getByRole('textbox', { name: 'Name' }).fill('ada');
  await page.getByLabel('Password').and(page.locator('input')).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('heading', { name: 'Welcome to Haft' })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Set a password' })).toBeHidden();
  expect(id).not.toBe('');
});
