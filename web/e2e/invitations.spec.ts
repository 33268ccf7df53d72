// An admin of a space invites users by name; each joins by accepting, or declines.
import type { Browser, Page } from '@playwright/test';

import { expect, type Haft, test } from './support/haft';
import { arrive, PASSWORD } from './support/people';

const SPACE = 'Weather team';

const list = (page: Page, name: string) => page.getByRole('list', { name, exact: true });

/** Ada creates a shared space and opens its members. She is no server admin: those add users at once. */
async function makeSpace(browser: Browser, haft: Haft): Promise<Page> {
  for (const name of ['ada', 'bob']) await haft.api('POST', '/api/users', { name, password: PASSWORD });
  const ada = await arrive(browser, haft, 'ada');
  await ada.goto(`${haft.url}/settings?tab=spaces`);
  await ada.getByRole('button', { name: 'New space' }).click();
  await ada.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill(SPACE);
  await ada.getByRole('dialog').getByRole('button', { name: 'Create space' }).click();
  await expect(ada.getByRole('button', { name: SPACE, exact: true })).toBeVisible();
  return ada;
}

async function invite(admin: Page, name: string, role: string): Promise<void> {
  await admin.getByRole('button', { name: 'Add member' }).click();
  const dialog = admin.getByRole('dialog');
  await expect(dialog.getByText('They join when they accept the invitation')).toBeVisible();
  await dialog.getByRole('textbox', { name: 'Name' }).fill(name);
  await dialog.getByRole('button', { name: /Role/ }).click();
  await admin.getByRole('option', { name: role }).click();
  await dialog.getByRole('button', { name: 'Add member' }).click();
  await expect(list(admin, 'Open invitations').getByRole('listitem').filter({ hasText: name })).toContainText(role);
}

/** Signs an invited user in, and opens the page with the user's invitations. */
async function openInvitations(browser: Browser, haft: Haft, name: string): Promise<Page> {
  const page = await arrive(browser, haft, name);
  await page.goto(`${haft.url}/settings?tab=spaces`);
  await expect(list(page, 'Invitations').getByRole('listitem')).toContainText([SPACE]);
  await expect(list(page, 'Spaces')).not.toContainText(SPACE);
  return page;
}

test('an invited user joins the space by accepting', async ({ haft, browser }) => {
  test.setTimeout(90_000);
  const ada = await makeSpace(browser, haft);
  await invite(ada, 'bob', 'Editor');
  await expect(list(ada, 'Members')).not.toContainText('bob');

  const bob = await openInvitations(browser, haft, 'bob');
  await expect(list(bob, 'Invitations')).toContainText('Editor');
  await expect(list(bob, 'Invitations')).toContainText('from ada');
  await bob.getByRole('button', { name: `Accept the invitation into ${SPACE}` }).click();
  await expect(list(bob, 'Spaces')).toContainText(SPACE);
  await expect(list(bob, 'Invitations')).toBeHidden();
  await bob.getByRole('button', { name: `Open the space ${SPACE}` }).click();
  await expect(bob.getByRole('button', { name: SPACE, exact: true })).toBeVisible();
  await expect(list(bob, 'Members').getByRole('listitem').filter({ hasText: 'bob' })).toContainText('Editor');
  await bob.context().close();

  await ada.reload();
  await expect(list(ada, 'Members')).toContainText('bob');
  await expect(list(ada, 'Open invitations')).toBeHidden();
  await ada.context().close();
});

test('an invited user who declines is not added, and can be invited again', async ({ haft, browser }) => {
  test.setTimeout(90_000);
  const ada = await makeSpace(browser, haft);
  await invite(ada, 'bob', 'Viewer');

  const bob = await openInvitations(browser, haft, 'bob');
  await bob.getByRole('button', { name: `Decline the invitation into ${SPACE}` }).click();
  await expect(list(bob, 'Invitations')).toBeHidden();
  await expect(list(bob, 'Spaces')).not.toContainText(SPACE);
  await ada.reload();
  await expect(list(ada, 'Members')).not.toContainText('bob');
  await expect(list(ada, 'Open invitations')).toBeHidden();

  await invite(ada, 'bob', 'Caller');
  await bob.reload();
  await expect(list(bob, 'Invitations')).toContainText('Caller');
  await bob.context().close();
  await ada.context().close();
});

test('a withdrawn invitation can no longer be accepted', async ({ haft, browser }) => {
  test.setTimeout(90_000);
  const ada = await makeSpace(browser, haft);
  await invite(ada, 'bob', 'Viewer');
  const bob = await openInvitations(browser, haft, 'bob');

  await ada.getByRole('button', { name: 'Withdraw the invitation of bob' }).click();
  await ada.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
  await expect(list(ada, 'Open invitations')).toBeHidden();
  await bob.getByRole('button', { name: `Accept the invitation into ${SPACE}` }).click();
  await expect(bob.getByRole('alert')).toBeVisible();
  await expect(list(bob, 'Spaces')).not.toContainText(SPACE);
  await bob.context().close();
  await ada.context().close();
});
