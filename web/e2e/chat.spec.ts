// A conversation with an agent: streaming, stopping, editing, and reloading.
import { composer, ended, expect, makeGuide, say, test } from './support/chat';
import { gate } from './support/model';

const REGION = 'Conversation';

test('a response streams as Markdown without executing any of it', async ({ console: page, haft, model, upstream }) => {
  await makeGuide(haft, upstream);
  const rest = gate();
  model.replies = [{
    reasoning: 'They want the way.',
    text: ['## The way\n\nGo **north**', rest.wait, ', then [ask](https://example.com/way).\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\nls -l\n```\n\n<img src=x onerror=alert(1)> ![map](https://foreign.example/map.png) [bad](javascript:alert(1))'],
  }];
  await page.getByRole('link', { name: 'Chat', exact: true }).click();
  await page.getByRole('link', { name: /^guide/ }).click();
  await expect(page.getByRole('heading', { name: 'Chat with guide' })).toBeVisible();
  await say(page, 'Which way?');
  const column = page.getByRole('region', { name: REGION });
  await expect(column.getByRole('heading', { name: 'The way' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Stop' })).toBeVisible();
  await expect(page).toHaveURL(/\/chat\/[0-9a-f-]+$/);
  rest.open();
  await expect(ended(page)).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Which way?', level: 1 })).toBeVisible();

  const link = column.getByRole('link', { name: 'ask' });
  await expect(link).toHaveAttribute('href', 'https://example.com/way');
  await expect(link).toHaveAttribute('rel', /noopener/);
  await expect(link).toHaveAttribute('target', '_blank');
  await expect(column.getByRole('cell', { name: '2' })).toBeVisible();
  await expect(column.getByText('<img src=x onerror=alert(1)>')).toBeVisible();
  await expect(column.getByRole('img', { name: 'map' })).toHaveCount(0);
  await expect(column.getByRole('link', { name: 'map' })).toHaveAttribute('href', 'https://foreign.example/map.png');
  await expect(column.getByRole('link', { name: 'bad' })).toHaveCount(0);
  await column.getByRole('button', { name: 'Copy code' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('ls -l');
  await column.getByRole('button', { name: 'Reasoning' }).click();
  await expect(column.getByText('They want the way.')).toBeVisible();
  await expect(column.getByRole('group', { name: 'About this answer' })).toContainText('412 tokens in, 38 out');
  expect(model.requests[0]?.messages.map(({ role }) => role)).toEqual(['system', 'user']);
});

test('a response is stopped and continued', async ({ console: page, haft, model }) => {
  model.replies = [{ text: ['This is the beginning', gate().wait] }, { text: 'And this is the end.' }];
  await page.goto(`${haft.url}/chat`);
  await say(page, 'Write a story');
  await expect(page.getByText('This is the beginning')).toBeVisible();
  await page.getByRole('button', { name: 'Stop' }).click();
  await expect(page.getByText('Stopped.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Send' })).toBeVisible();
  await expect(composer(page)).toBeFocused();
  await page.reload();
  await expect(page.getByText('This is the beginning')).toBeVisible();

  // The first request fails. The second request is delayed, and sent once however often the button is pressed.
  const [asked, late] = [[] as string[], gate()];
  const goOn = page.getByRole('button', { name: 'Continue' });
  await page.route('**/continue', (route) => route.abort(), { times: 1 });
  await goOn.click();
  await expect(page.getByRole('alert')).toHaveText('The server does not answer. Try again in a moment.');
  await page.route('**/continue', async (route) => {
    asked.push(route.request().url());
    await late.wait;
    await route.continue();
  });
  await goOn.press('Enter');
  await expect(page.getByRole('alert')).toBeHidden();
  await expect(composer(page)).toBeFocused();
  for (let press = 0; press < 2; press += 1) await goOn.click({ force: true });
  expect(asked).toHaveLength(1);
  late.open();
  await expect(page.getByText('And this is the end.')).toBeVisible();
  await expect(ended(page)).toBeVisible();
});

test('a response is regenerated, and a message is edited and sent again', async ({ console: page, haft, model }) => {
  model.replies = [{ text: 'First answer.' }, { text: 'Second answer.' }, { text: 'Later answer.' }, { text: 'Third answer.' }];
  await page.goto(`${haft.url}/chat`);
  await say(page, 'Hello');
  await expect(page.getByText('First answer.')).toBeVisible();
  await ended(page).press('Enter');
  await expect(composer(page)).toBeFocused();
  await expect(page.getByText('Second answer.')).toBeVisible();
  await expect(page.getByText('First answer.')).toBeHidden();
  await expect(ended(page)).toBeVisible();
  await say(page, 'And later?');
  await expect(page.getByText('Later answer.')).toBeVisible();
  await expect(ended(page)).toBeVisible();

  // The first of two turns.
  const edit = page.getByRole('button', { name: 'Edit' }).first();
  await edit.press('Enter');
  const field = page.getByRole('textbox', { name: 'Your message' });
  await expect(field).toBeFocused();
  await expect(field).toHaveValue('Hello');
  await field.press('Escape');
  await expect(field).toBeHidden();
  await expect(edit).toBeFocused();
  await edit.press('Enter');
  await field.fill('Good evening');
  // A refused message remains in the field.
  await page.route('**/api/chat', (route) => route.abort(), { times: 1 });
  await field.press('Enter');
  await expect(page.getByRole('alert')).toHaveText('The server does not answer. Try again in a moment.');
  await expect(field).toHaveValue('Good evening');
  await expect(page.getByText('Later answer.')).toBeVisible();
  await field.press('Enter');
  await expect(page.getByText('Third answer.')).toBeVisible();
  await expect(composer(page)).toBeFocused();
  for (const gone of ['Second answer.', 'And later?', 'Later answer.']) await expect(page.getByText(gone)).toBeHidden();
  await expect(page.getByText('Good evening')).toBeVisible();
  expect(model.requests.at(-1)?.messages.filter(({ role }) => role === 'user')).toHaveLength(1);

  await page.reload();
  await expect(page.getByText('Third answer.')).toBeVisible();
  for (const gone of ['First answer.', 'Later answer.']) await expect(page.getByText(gone)).toBeHidden();
});

test('reopening a conversation during a response shows all of it once', async ({ console: page, haft, model }) => {
  const rest = gate();
  model.replies = [{ text: ['One. ', 'Two. ', rest.wait, 'Three. ', 'Four.'] }];
  await page.goto(`${haft.url}/chat`);
  await say(page, 'Count');
  await expect(page.getByText('One. Two.')).toBeVisible();
  await page.reload();
  await expect(page.getByText('One. Two.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Stop' })).toBeVisible();
  rest.open();
  await expect(page.getByText('One. Two. Three. Four.', { exact: true })).toBeVisible();
  await expect(ended(page)).toBeVisible();
});

test('a refusal of the model is shown in place, and can be retried', async ({ console: page, haft, model }) => {
  model.replies = [{ refused: { status: 400, message: 'This model is on leave' } }, { text: 'Here I am.' }];
  await page.goto(`${haft.url}/chat`);
  await say(page, 'Are you there?');
  await expect(page.getByRole('alert')).toContainText('This model is on leave');
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByText('Here I am.')).toBeVisible();
});

test('lines and pictures are sent unchanged, and too large pictures are rejected', async ({ console: page, haft, model }) => {
  await page.goto(`${haft.url}/chat`);
  await expect(composer(page)).toHaveAccessibleDescription('Enter sends, Shift+Enter starts a new line.');
  await composer(page).fill('First line');
  await composer(page).press('Shift+Enter');
  await composer(page).pressSequentially('second line');
  await expect(composer(page)).toHaveValue('First line\nsecond line');
  const chosen = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Add pictures' }).click();
  const dot = { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(DOT, 'base64') };
  await (await chosen).setFiles([
    dot,
    dot,
    { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('no picture') },
    { name: 'large.png', mimeType: 'image/png', buffer: Buffer.alloc(5 * 1024 * 1024 + 1) },
  ]);
  await expect(page.getByRole('alert')).toContainText('notes.txt cannot be sent');
  await expect(page.getByRole('alert')).toContainText('large.png is larger than 5 MB');
  const pictures = page.getByRole('list', { name: 'Pictures to send' }).getByRole('listitem');
  await expect(pictures).toHaveCount(2);
  await page.getByRole('button', { name: 'Remove picture 2' }).click();
  await expect(pictures).toHaveCount(1);
  await composer(page).press('Enter');
  await expect(ended(page)).toBeVisible();
  await expect(page.getByRole('img', { name: 'Picture' })).toBeVisible();
  const sent = JSON.stringify(model.requests[0]?.messages.at(-1)?.content);
  expect(sent).toContain('First line\\nsecond line');
  expect(sent).toContain(`data:image/png;base64,${DOT}`);
  await page.reload();
  await expect(page.getByRole('img', { name: 'Picture' })).toBeVisible();
});

test('artifacts are shown as pictures, and other addresses as links', async ({ console: page, haft, model }) => {
  const keep = async (name: string, type: string, bytes: Buffer) => {
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(bytes)], { type }), name);
    const answer = await fetch(`${haft.url}/api/artifacts`, { method: 'POST', headers: { authorization: `Bearer ${haft.token}` }, body: form });
    return (await answer.json() as { data: { id: string; url: string } }).data;
  };
  const dot = await keep('dot.png', 'image/png', Buffer.from(DOT, 'base64'));
  const notes = await keep('notes.txt', 'text/plain', Buffer.from('no picture'));
  model.replies = [{ text: `![chart](artifact://${dot.id}) ![nothing](artifact://0190b5a0-0000-7000-8000-000000000000)` }];
  const content = [`artifact://${dot.id}`, new URL(dot.url, haft.url).href].map((url) => ({ type: 'image_url', image_url: { url } }));
  const begun = await haft.api<{ conversationId: string }>('POST', '/api/chat', { messages: [{ role: 'user', content }], detach: true });
  await page.goto(`${haft.url}/chat/${begun.conversationId}`);
  await expect(ended(page)).toBeVisible();
  await expect(page.getByRole('img', { name: 'Picture' })).toHaveCount(2);
  await expect(page.getByRole('img', { name: 'chart' })).toBeVisible();
  expect(await page.getByRole('img', { name: 'chart' }).evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1);
  await expect(page.getByText('nothing')).toBeVisible();
  await expect(page.getByRole('img', { name: 'nothing' })).toHaveCount(0);

  model.replies = [{ text: `![words](artifact://${notes.id})` }];
  await say(page, 'And that?');
  await expect(page.getByText('words')).toBeVisible();
  await expect(page.getByRole('img', { name: 'words' })).toHaveCount(0);
});

const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
