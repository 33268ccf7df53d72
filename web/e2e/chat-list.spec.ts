// The list of conversations: search, rename, export, delete; on a phone, and with assistive technology.
import AxeBuilder from '@axe-core/playwright';
import { readFile } from 'node:fs/promises';

import { composer, ended, expect, makeGuide, say, test } from './support/chat';
import { watch } from './support/watch';

const LEVELS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

test('conversations are searched, renamed, exported and deleted', async ({ console: page, haft, model }) => {
  model.replies = [{ text: 'An answer.' }];
  for (const text of ['The price of apples', 'The price of pears']) {
    await page.goto(`${haft.url}/chat`);
    await say(page, text);
    await expect(ended(page)).toBeVisible();
  }
  const list = page.getByRole('navigation', { name: 'Conversations' });
  await expect(list.getByRole('link')).toHaveText(['The price of pears', 'The price of apples']);
  await page.getByRole('searchbox', { name: 'Search conversations' }).fill('apples');
  await expect(list.getByRole('link')).toHaveText(['The price of apples']);
  await page.getByRole('searchbox', { name: 'Search conversations' }).fill('');

  await list.getByRole('button', { name: 'More for The price of apples' }).click();
  await page.getByRole('menuitem', { name: 'Rename' }).click();
  const dialog = page.getByRole('dialog', { name: 'Rename conversation' });
  await dialog.getByRole('textbox', { name: 'Title' }).fill('Fruit');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await list.getByRole('link', { name: 'Fruit' }).click();
  await expect(page.getByRole('heading', { name: 'Fruit', level: 1 })).toBeVisible();

  const kept = page.waitForEvent('download');
  await list.getByRole('button', { name: 'More for Fruit' }).click();
  await page.getByRole('menuitem', { name: 'Export as Markdown' }).click();
  const file = await kept;
  expect(file.suggestedFilename()).toBe('Fruit.md');
  expect(await readFile(await file.path(), 'utf8')).toContain('The price of apples');

  await list.getByRole('button', { name: 'More for Fruit' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete conversation' }).click();
  await expect(page).toHaveURL(/\/chat$/);
  await expect(list.getByRole('link')).toHaveText(['The price of pears']);

  // Messages, renames and deletions from elsewhere appear without a reload.
  const { conversationId } = await haft.api<{ conversationId: string }>('POST', '/api/chat', { messages: [{ role: 'user', content: 'The price of plums' }] });
  await expect(list.getByRole('link')).toHaveText(['The price of plums', 'The price of pears']);
  await haft.api('PATCH', `/api/conversations/${conversationId}`, { title: 'Plums' });
  await expect(list.getByRole('link')).toHaveText(['Plums', 'The price of pears']);
  await haft.api('DELETE', `/api/conversations/${conversationId}`);
  await expect(list.getByRole('link')).toHaveText(['The price of pears']);
});

test('a deleted conversation and an unusable agent are explained', async ({ console: page, haft, model, upstream }) => {
  const agent = await makeGuide(haft, upstream);
  model.replies = [{ text: 'An answer.' }];
  await page.goto(`${haft.url}/chat?agent=${agent.id}`);
  await say(page, 'Hello');
  await expect(ended(page)).toBeVisible();
  await haft.api('DELETE', `/api/conversations/${page.url().split('/').at(-1)}`);
  await expect(page.getByRole('heading', { name: 'Conversation not found' })).toBeVisible();

  const send = page.getByRole('button', { name: 'Send' });
  await haft.api('PATCH', `/api/agents/${agent.id}`, { isActive: false });
  for (const [wanted, why] of [[agent.id, 'This agent is off. Switch it on, or choose another.'], ['nobody', 'This agent does not exist. Choose another.']] as const) {
    await page.goto(`${haft.url}/chat?agent=${wanted}`);
    await composer(page).fill('Are you there?');
    await expect(page.getByText(why)).toBeVisible();
    await expect(send).toBeDisabled();
    await composer(page).press('Enter');
    await expect(composer(page)).toHaveValue('Are you there?');
  }
  await page.goto(`${haft.url}/chat`);
  await composer(page).fill('Then without');
  await expect(send).toBeEnabled();
});

test('on a phone the list is a drawer, and an agent is tried from its page', async ({ console: page, haft, model, upstream }) => {
  const agent = await makeGuide(haft, upstream);
  model.replies = [{ text: 'An answer.' }];
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${haft.url}/agents/${agent.id}`);
  await page.getByRole('button', { name: 'Try this agent' }).click();
  await expect(page.getByRole('heading', { name: 'Chat with guide' })).toBeVisible();
  await say(page, 'A question from the road');
  await expect(ended(page)).toBeVisible();
  await page.getByRole('button', { name: 'Conversations' }).click();
  const drawer = page.getByRole('dialog', { name: 'Conversations' });
  await drawer.getByRole('link', { name: 'New chat' }).click();
  await expect(drawer).toBeHidden();
  await expect(composer(page)).toBeVisible();
  await page.getByRole('button', { name: 'Conversations' }).click();
  await drawer.getByRole('link', { name: /A question from the road/ }).click();
  await expect(page.getByText('An answer.')).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
});

test('the chat violates neither accessibility rules nor the content policy', async ({ console: page, haft, model, upstream }) => {
  const { found } = await watch(page, haft.url);
  const agent = await makeGuide(haft, upstream);
  model.replies = [
    { reasoning: 'Hm.', text: 'I look.', calls: [{ name: 'weather', arguments: { city: 'Oslo' } }, { name: 'pay', arguments: { amount: 5 } }] },
    { text: '# Title\n\n- [x] one\n- two\n\n| a |\n|---|\n| 1 |\n\n```\ncode\n```\n' },
  ];
  const barriers = async () => (await new AxeBuilder({ page }).withTags(LEVELS).setLegacyMode().analyze()).violations
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
  await page.goto(`${haft.url}/chat?agent=${agent.id}`);
  await expect(composer(page)).toBeVisible();
  expect(await barriers()).toEqual([]);
  await say(page, 'Look');
  await expect(page.getByRole('button', { name: 'Approve' })).toBeVisible({ timeout: 20_000 });
  await page.getByRole('button', { name: /Done weather/ }).click();
  expect(await barriers()).toEqual([]);
  await page.getByRole('button', { name: 'Approve' }).click();
  await expect(ended(page)).toBeVisible({ timeout: 20_000 });
  expect(await barriers()).toEqual([]);
  expect(found).toEqual([]);
});
