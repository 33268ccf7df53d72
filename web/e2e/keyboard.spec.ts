// Keyboard only: a tool is created and tried, and a message is sent to an agent.
import type { Page } from '@playwright/test';

import { makeGuide, test as chatTest } from './support/chat';
import { expect, test } from './support/haft';
import { gate } from './support/model';

/** Presses Tab until an element of this role and name has the focus. */
async function tabTo(page: Page, role: 'button' | 'textbox' | 'tab' | 'link' | 'searchbox' | 'combobox', name: string | RegExp, key = 'Tab'): Promise<void> {
  const goal = page.getByRole(role, { name, exact: true });
  for (let turn = 0; turn < 60; turn += 1) {
    await page.keyboard.press(key);
    if ((await goal.count()) > 0 && (await goal.evaluate((element) => element.contains(document.activeElement)))) return;
  }
  throw new Error(`no ${role} ${String(name)} is reached by ${key}`);
}

/** Types into the focused agent field and chooses the only remaining option. */
async function chooseAgent(page: Page, text: string, name: string): Promise<void> {
  await page.keyboard.type(text);
  await expect(page.getByRole('option')).toHaveCount(1);
  await page.keyboard.press('ArrowDown');
  const id = await page.getByRole('option', { name }).getAttribute('id');
  await expect(page.getByRole('combobox', { name: 'Agent', exact: true })).toHaveAttribute('aria-activedescendant', id ?? '');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { name: `Chat with ${name}` })).toBeVisible();
}

test('a tool is created and tried by keyboard', async ({ console: page, haft, upstream }) => {
  await page.goto(haft.url);
  await page.getByRole('link', { name: 'Skip to content' }).focus();
  await tabTo(page, 'link', 'Tools');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { name: 'Tools', level: 1 })).toBeVisible();
  await tabTo(page, 'button', 'New tool');
  await page.keyboard.press('Enter');

  await expect(page.getByRole('textbox', { name: 'Name', exact: true })).toBeFocused();
  await page.keyboard.type('create_ticket');
  await tabTo(page, 'textbox', 'Description');
  await page.keyboard.type('Opens a ticket. Use it when the customer agreed.');
  await tabTo(page, 'button', /Method/);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('listbox')).toBeVisible();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('button', { name: /Method/ })).toContainText('POST');
  await tabTo(page, 'textbox', 'URL');
  await page.keyboard.type(`${upstream.url}/queues/{{queue}}/tickets`);

  await tabTo(page, 'tab', 'Params');
  await page.keyboard.press('ArrowRight');
  await expect(page.getByRole('tab', { name: 'Headers' })).toHaveAttribute('aria-selected', 'true');
  await tabTo(page, 'button', 'Add');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('textbox', { name: 'Name 1' })).toBeFocused();
  await page.keyboard.type('X-Team');
  await page.keyboard.press('Tab');
  await page.keyboard.type('support');
  await page.keyboard.press('Control+s');

  await expect(page.getByRole('heading', { name: 'create_ticket', level: 1 })).toBeVisible();
  await tabTo(page, 'textbox', 'Queue');
  await page.keyboard.press('Control+Enter');
  await expect(page.getByRole('textbox', { name: 'Queue' })).toHaveAttribute('aria-invalid', 'true');
  await expect(page.getByRole('textbox', { name: 'Queue' })).toBeFocused();
  await page.keyboard.type('urgent');
  await tabTo(page, 'button', 'Run');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('tree', { name: 'Result' })).toBeVisible();
  const [seen] = upstream.requests;
  expect([seen?.method, seen?.url, seen?.headers['x-team']]).toEqual(['POST', '/queues/urgent/tickets', 'support']);

  await tabTo(page, 'tab', 'Tree');
  await page.keyboard.press('Tab');
  await expect(page.getByRole('tree', { name: 'Result' })).toBeFocused();
  await page.keyboard.press('ArrowDown');
  await expect(page.getByRole('treeitem', { selected: true })).toContainText('city');
});

test('Escape closes a dialog and restores the focus', async ({ console: page, haft }) => {
  await page.goto(`${haft.url}/tools/new`);
  await expect(page.getByRole('textbox', { name: 'Name', exact: true })).toBeFocused();
  await tabTo(page, 'button', 'Paste a cURL command', 'Shift+Tab');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Paste a cURL command' });
  await expect(dialog.getByRole('textbox', { name: 'cURL command' })).toBeFocused();
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Shift+Tab');
  expect(await dialog.evaluate((element) => element.contains(document.activeElement))).toBe(true);
  await page.keyboard.press('Escape');
  await expect(dialog).toBeHidden();
  await expect(page.getByRole('button', { name: 'Paste a cURL command' })).toBeFocused();
});

chatTest('a conversation is started, stopped, inspected and edited by keyboard', async ({ console: page, haft, model, upstream }) => {
  await makeGuide(haft, upstream);
  const rest = gate();
  model.replies = [
    { text: 'I look.', calls: [{ name: 'weather', arguments: { city: 'Oslo' } }] },
    { text: ['It is warm', rest.wait, ' in Oslo.'] },
    { text: 'It rains in Bergen.' },
  ];
  await page.goto(haft.url);
  await page.getByRole('link', { name: 'Skip to content' }).focus();
  await tabTo(page, 'link', 'Chat');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('textbox', { name: 'Message' })).toBeFocused();
  await tabTo(page, 'combobox', 'Agent');
  await chooseAgent(page, 'gui', 'guide');
  await tabTo(page, 'textbox', 'Message', 'Shift+Tab');
  await page.keyboard.type('How is Oslo?');
  await page.keyboard.press('Enter');

  await expect(page.getByText('It is warm')).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'Message' })).toBeFocused();
  await tabTo(page, 'button', 'Stop');
  await page.keyboard.press('Enter');
  await expect(page.getByText('Stopped.')).toBeVisible();
  rest.open();

  await tabTo(page, 'button', /Done weather/, 'Shift+Tab');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('tree', { name: 'Result' })).toContainText('21.5');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('tree', { name: 'Result' })).toBeHidden();

  await tabTo(page, 'button', 'Edit', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('textbox', { name: 'Your message' })).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(page.getByText('How is Oslo?').last()).toBeVisible();
  await tabTo(page, 'button', 'Edit', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('How is Bergen?');
  await page.keyboard.press('Enter');
  await expect(page.getByText('It rains in Bergen.')).toBeVisible();
  expect(model.requests.at(-1)?.messages.filter(({ role }) => role === 'user')).toMatchObject([{ content: 'How is Bergen?' }]);

  await tabTo(page, 'button', 'More', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('menu')).toBeVisible();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('dialog', { name: 'Rename conversation' }).getByRole('textbox', { name: 'Title' })).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('button', { name: 'More', exact: true })).toBeFocused();
});

chatTest('Enter chooses an agent from the visible options before the search has responded', async ({ console: page, haft, upstream }) => {
  await makeGuide(haft, upstream);
  const search = gate();
  await page.route(/\/api\/agents\?.*\bq=/, async (route) => {
    await search.wait;
    await route.continue();
  });
  await page.goto(`${haft.url}/chat`);
  await page.getByRole('combobox', { name: 'Agent', exact: true }).focus();
  await expect(page.getByRole('option', { name: 'sample_assistant' })).toBeVisible();
  await chooseAgent(page, 'gui', 'guide');
  search.open();
});
