// Other users of the tested server, each in a separate browser context.
import type { Browser, Page } from '@playwright/test';

import { expect, type Haft } from './haft';

export const PASSWORD = 'a long enough one';

/** Signs a user in by name and password. Close the context of the page when the test no longer needs it. */
export async function arrive(browser: Browser, haft: Haft, name: string, password = PASSWORD): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${haft.url}/login`);
  await page.getByRole('textbox', { name: 'Name' }).fill(name);
  await page.getByLabel('Password').and(page.locator('input')).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  return page;
}

/** Switches to another space by the menu of spaces. */
export async function enter(page: Page, from: string, space: string): Promise<void> {
  await page.getByRole('button', { name: from, exact: true }).click();
  await page.getByRole('menuitemradio', { name: space }).click();
  await expect(page.getByRole('button', { name: space, exact: true })).toBeVisible();
}
