// Settings: connect, secrets, tokens, members and roles, providers, alerts, audit log, files and account.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { expect, test } from './support/haft';
import { arrive, enter, PASSWORD } from './support/people';

test('the copied OpenAI snippet calls an agent of the space', async ({ console: page, haft }) => {
  await haft.api('POST', '/api/providers', { name: 'play', kind: 'scripted', script: [{ text: 'Five inches.' }] });
  await haft.api('POST', '/api/agents', { name: 'Ada’s tailor' });
  await page.goto(`${haft.url}/settings?tab=connect`);
  const part = page.getByRole('region', { name: 'Agents, through OpenAI’s libraries' });
  const ask = part.getByRole('region', { name: 'Ask the agent' });
  await part.getByRole('button', { name: /Agent/ }).click();
  await page.getByRole('option', { name: 'Ada’s tailor' }).click();
  await expect(part.getByRole('tab')).toHaveText(['OpenAI Python', 'OpenAI JavaScript', 'curl']);
  await expect(ask).toContainText(`base_url="${haft.url}/v1"`);
  await expect(ask).toContainText('model="Ada’s tailor"');
  await part.getByRole('tab', { name: 'OpenAI JavaScript' }).click();
  await expect(part.getByRole('region', { name: 'Install the library' })).toContainText('npm install openai');
  await expect(ask).toContainText(`baseURL: "${haft.url}/v1"`);

  await part.getByRole('tab', { name: 'curl' }).click();
  const command = await ask.innerText();
  expect(command).not.toContain(haft.token);
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', command], { env: { PATH: process.env['PATH'] ?? '', HAFT_TOKEN: haft.token } });
  expect(JSON.parse(stdout)).toMatchObject({ object: 'chat.completion', choices: [{ message: { role: 'assistant', content: 'Five inches.' } }] });
});

test('a secret is stored and never shown again', async ({ console: page, haft }) => {
  await page.goto(`${haft.url}/settings?tab=secrets`);
  await page.getByRole('button', { name: 'Add secret' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('weather key');
  await expect(dialog.getByText('Use 1 to 64 letters')).toBeVisible();
  await dialog.getByRole('textbox', { name: 'Name' }).fill('weather_key');
  await dialog.getByLabel('Value').fill('k-9876543210');
  await dialog.getByRole('button', { name: 'Save' }).click();
  const row = page.getByRole('list', { name: 'Secrets' }).getByRole('listitem').filter({ hasText: 'secret://weather_key' });
  await expect(row).toBeVisible();

  await row.getByRole('button', { name: 'Copy secret://weather_key' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('secret://weather_key');
  await page.reload();
  await row.getByRole('button', { name: 'Replace the value of weather_key' }).click();
  await expect(page.getByRole('dialog').getByLabel('Value')).toHaveValue('');
  expect(await page.content()).not.toContain('k-9876543210');
  expect(JSON.stringify(await haft.api('GET', '/api/secrets'))).not.toContain('k-9876543210');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();

  await row.getByRole('button', { name: 'Delete weather_key' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByRole('heading', { name: 'No secrets yet' })).toBeVisible();
});

test('a token is shown once, works, and stops working when revoked', async ({ console: page, haft }) => {
  const status = async (token: string) => (await fetch(`${haft.url}/api/tools`, { headers: { authorization: `Bearer ${token}` } })).status;
  await page.goto(`${haft.url}/settings?tab=tokens`);
  await page.getByRole('button', { name: 'New token' }).click();
  await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('nightly script');
  await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click();
  const made = page.getByRole('dialog', { name: 'Your new token' });
  await made.getByRole('button', { name: 'Copy token' }).click();
  const token = await page.evaluate(() => navigator.clipboard.readText());
  await expect(made.getByText(token, { exact: true })).toBeVisible();
  expect(await status(token)).toBe(200);
  await made.getByRole('button', { name: 'I have copied it' }).click();

  await page.reload();
  const row = page.getByRole('list', { name: 'Tokens' }).getByRole('listitem').filter({ hasText: 'nightly script' });
  await expect(row).toContainText('Call');
  expect(await page.content()).not.toContain(token);
  await row.getByRole('button', { name: 'Revoke nightly script' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await expect(row).toBeHidden();
  expect(await status(token)).toBe(401);
});

test('a provider is added and lists its models', async ({ console: page, haft, upstream }) => {
  upstream.responses = [
    { status: 200, body: { object: 'list', data: [{ id: 'gpt-small', object: 'model' }, { id: 'gpt-large', object: 'model' }] } },
    { status: 401, body: { error: { message: 'Incorrect API key provided' } } },
  ];
  await page.goto(`${haft.url}/settings?tab=providers`);
  await page.getByRole('button', { name: 'Add the first one' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('local');
  await dialog.getByRole('textbox', { name: 'Address' }).fill(`${upstream.url}/v1`);
  await dialog.getByLabel('Key', { exact: true }).fill('sk-of-the-test');
  await dialog.getByRole('button', { name: 'Save' }).click();
  const row = page.getByRole('list', { name: 'Providers' }).getByRole('listitem').filter({ hasText: `${upstream.url}/v1` });
  await expect(row).toContainText('secret://');
  await row.getByRole('button', { name: 'Test local' }).click();
  await expect(row.getByRole('list', { name: 'Available models' }).getByRole('listitem')).toHaveText(['gpt-small', 'gpt-large']);
  expect(upstream.requests[0]?.url).toBe('/v1/models');
  expect(upstream.requests[0]?.headers['authorization']).toBe('Bearer sk-of-the-test');

  await row.getByRole('button', { name: 'Test local' }).click();
  await expect(row.getByRole('alert')).toContainText('401');
});

test('an alert is created, and appears in the audit log', async ({ console: page, haft }) => {
  // The call log also has a tool combo box; neither affects the other.
  await page.getByRole('link', { name: 'Calls' }).click();
  await page.getByRole('combobox', { name: 'Tool' }).fill('calc');
  await page.getByRole('option', { name: 'calculator' }).click();
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('link', { name: 'Alerts' }).click();
  await page.getByRole('button', { name: 'New alert' }).click();
  const dialog = page.getByRole('dialog', { name: 'New alert' });
  await dialog.getByRole('combobox', { name: 'Tool' }).fill('calc');
  await page.getByRole('option', { name: 'calculator' }).click();
  await dialog.getByLabel('Above (%)').fill('20');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Calculator fails');
  await dialog.getByRole('button', { name: 'Save' }).click();
  const row = page.getByRole('list', { name: 'Alerts' }).getByRole('listitem').filter({ hasText: 'Calculator fails' });
  await expect(row).toContainText('Error rate of calculator above 20% for 1');
  const [alert] = (await haft.api<{ items: { above: number; toolName: string }[] }>('GET', '/api/alerts')).items;
  expect(alert).toMatchObject({ above: 0.2, toolName: 'calculator' });

  await page.getByRole('link', { name: 'Changes' }).click();
  const changes = page.getByRole('list', { name: 'Changes' }).getByRole('listitem');
  await expect(changes.filter({ hasText: 'admin created the alert Calculator fails' })).toBeVisible();
  // Changes from elsewhere appear without a reload.
  await haft.api('PUT', '/api/secrets/new_one', { value: 'x-0123456789' });
  await expect(changes.filter({ hasText: 'admin set the secret new_one' })).toBeVisible();
  await page.getByRole('button', { name: 'What' }).click();
  await page.getByRole('option', { name: 'Alerts' }).click();
  await expect(changes).toHaveCount(1);
});

test('a file is uploaded, and its link needs no session', async ({ console: page, haft, browser }) => {
  await page.goto(`${haft.url}/settings?tab=files`);
  const choosing = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Upload' }).click();
  await (await choosing).setFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('remember the milk') });
  const row = page.getByRole('list', { name: 'Files' }).getByRole('listitem').filter({ hasText: 'notes.txt' });
  await expect(row).toContainText('17 B');

  await row.getByRole('button', { name: 'Create a link to notes.txt' }).click();
  const link = await page.getByRole('dialog', { name: 'Link to notes.txt' }).getByRole('region', { name: 'Link' }).innerText();
  const stranger = await browser.newContext();
  const answer = await stranger.request.get(link);
  expect(await answer.text()).toBe('remember the milk');
  await stranger.close();
  await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click();

  const saving = page.waitForEvent('download');
  await row.getByRole('button', { name: 'Download notes.txt' }).click();
  expect((await saving).suggestedFilename()).toBe('notes.txt');
  await row.getByRole('button', { name: 'Delete notes.txt' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByRole('heading', { name: 'No files yet' })).toBeVisible();
});

test('language, theme and password are changed in the account', async ({ console: page, haft }) => {
  await page.goto(`${haft.url}/settings?tab=account`);
  await page.getByRole('radiogroup', { name: 'Theme' }).getByText('Dark').click();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await page.getByRole('radiogroup', { name: 'Language' }).getByText('中文').click();
  await expect(page.getByRole('heading', { name: '设置', level: 1 })).toBeVisible();
  await page.getByRole('radiogroup', { name: '语言' }).getByText('English').click();

  await page.getByLabel('New password').fill(PASSWORD);
  await page.getByLabel('Repeat password').fill('another');
  await expect(page.getByText('The passwords do not match.')).toBeVisible();
  await page.getByLabel('Repeat password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Set password' }).click();
  await expect(page.getByText('Your password was changed.')).toBeVisible();

  await page.context().clearCookies();
  await page.goto(`${haft.url}/login`);
  await page.getByRole('textbox', { name: 'Name' }).fill('admin');
  await page.getByLabel('Password').and(page.locator('input')).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('navigation', { name: 'Pages' })).toBeVisible();
});

test('a user added to a shared space has the rights of their role', async ({ console: page, haft, browser }) => {
  test.setTimeout(90_000);
  await page.goto(`${haft.url}/settings?tab=users`);
  await page.getByRole('button', { name: 'New user' }).click();
  await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('ada');
  await page.getByRole('dialog').getByLabel('First password').fill('short');
  await page.getByRole('dialog').getByRole('button', { name: 'Create user' }).click();
  await expect(page.getByRole('dialog').getByLabel('First password')).toHaveAccessibleDescription(/8/);
  await page.getByRole('dialog').getByLabel('First password').fill(PASSWORD);
  await page.getByRole('dialog').getByRole('button', { name: 'Create user' }).click();
  await expect(page.getByRole('list', { name: 'Users' }).getByText('ada')).toBeVisible();

  await page.getByRole('link', { name: 'Spaces' }).click();
  await page.getByRole('button', { name: 'New space' }).click();
  await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Weather team');
  await page.getByRole('dialog').getByRole('button', { name: 'Create space' }).click();
  await expect(page.getByRole('button', { name: 'Weather team', exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'Add member' }).click();
  await page.getByRole('dialog').getByRole('textbox', { name: 'Name', exact: true }).fill('ada');
  await page.getByRole('dialog').getByRole('button', { name: /Role/ }).click();
  await page.getByRole('option', { name: 'Viewer' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Add member' }).click();
  const member = page.getByRole('list', { name: 'Members' }).getByRole('listitem').filter({ hasText: 'ada' });
  await expect(member).toContainText('Viewer');

  await page.goto(`${haft.url}/agents`);
  await page.getByRole('button', { name: /Start empty|New agent/ }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('guide');
  await page.getByRole('button', { name: 'Create agent' }).click();
  await expect(page.getByRole('heading', { name: 'guide', level: 1 })).toBeVisible();
  const agentUrl = page.url();

  const ada = await arrive(browser, haft, 'ada');
  await enter(ada, 'Personal', 'Weather team');
  await ada.getByRole('link', { name: 'Tools', exact: true }).click();
  await expect(ada.getByRole('link', { name: 'Calculator' })).toBeVisible();
  await expect(ada.getByRole('button', { name: 'New tool' })).toBeHidden();
  await ada.goto(`${haft.url}/tools/new`);
  await expect(ada.getByText('Creating tools requires the editor role.')).toBeVisible();
  await expect(ada.getByRole('button', { name: 'Create tool' })).toBeHidden();

  await ada.goto(agentUrl);
  await expect(ada.getByText('You can view this agent, but not change it.')).toBeVisible();
  await expect(ada.getByLabel('System prompt')).toBeDisabled();
  await expect(ada.getByRole('button', { name: /^(Save|More|Discard)$/ })).toHaveCount(0);
  await ada.goto(`${haft.url}/settings?tab=secrets`);
  await expect(ada.getByText('Editors of the space add and replace its secrets.')).toBeVisible();
  await expect(ada.getByRole('button', { name: 'Add secret' })).toBeHidden();
  await expect(ada.getByRole('link', { name: 'Users' })).toBeHidden();

  await page.goto(`${haft.url}/settings?tab=members`);
  await member.getByRole('button', { name: /Role of ada/ }).click();
  await page.getByRole('option', { name: 'Editor' }).click();
  await expect(member).toContainText('Changes tools, agents');
  await ada.goto(agentUrl);
  await ada.getByLabel('System prompt').fill('You know the weather.');
  await ada.getByRole('button', { name: 'Save' }).click();
  await expect(ada.getByText('Unsaved changes')).toBeHidden();
  await ada.context().close();

  await page.goto(agentUrl);
  await expect(page.getByLabel('System prompt')).toHaveValue('You know the weather.');
});

test('a viewer sees calls, and no actions that create or change anything', async ({ console: page, haft, browser }) => {
  test.setTimeout(90_000);
  const space = await haft.api<{ id: string }>('POST', '/api/spaces', { name: 'Weather team' });
  await haft.api('POST', '/api/users', { name: 'ada', password: PASSWORD });
  await haft.api('PUT', `/api/spaces/${space.id}/members/ada`, { role: 'viewer' });
  await page.reload();
  await enter(page, 'Personal', 'Weather team');
  await page.goto(`${haft.url}/tools/calculator?tab=try`);
  await page.getByLabel('expression').fill('6 * 7');
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByText('42').first()).toBeVisible();

  const ada = await arrive(browser, haft, 'ada');
  await enter(ada, 'Personal', 'Weather team');
  await ada.goto(`${haft.url}/tools/calculator?tab=try`);
  await expect(ada.getByRole('heading', { name: 'Calculator', level: 1 })).toBeVisible();
  await expect(ada.getByRole('button', { name: 'Run' }).and(ada.locator(':enabled'))).toHaveCount(0);
  await ada.goto(`${haft.url}/calls`);
  await ada.getByRole('table', { name: 'Calls' }).getByRole('link', { name: 'calculator' }).click();
  const opened = ada.getByRole('dialog', { name: 'calculator' });
  await expect(opened.getByRole('tree', { name: 'Arguments' })).toContainText('6 * 7');
  await expect(opened.getByRole('button', { name: 'Copy as cURL' })).toBeVisible();
  await expect(opened.getByRole('button', { name: /Replay/ })).toHaveCount(0);
  for (const [tab, button] of [['alerts', 'New alert'], ['providers', 'Add provider'], ['members', 'Add member'], ['files', 'Upload']] as const) {
    await ada.goto(`${haft.url}/settings?tab=${tab}`);
    await expect(ada.getByRole('main').getByRole('heading', { level: 2 }).first()).toBeVisible();
    await expect(ada.getByRole('button', { name: button })).toHaveCount(0);
  }
  await ada.goto(`${haft.url}/agents/new`);
  await expect(ada.getByText('Creating agents requires the editor role.')).toBeVisible();
  await ada.context().close();
});
