// Agents: choosing, ordering and binding tools, saving, and conflicts.
import type { Page } from '@playwright/test';

import { expect, type Haft, test, type Upstream } from './support/haft';

interface Agent {
  id: string;
  version: number;
  systemPrompt: string;
  bindings: { toolId: string; sortOrder: number; toolConfig: unknown; isEnabled: boolean }[];
}

async function weatherTool(haft: Haft, upstream: Upstream): Promise<{ id: string }> {
  return haft.api('POST', '/api/tools', {
    name: 'weather_forecast',
    description: 'Forecast for a city.',
    category: 'weather',
    type: 'http',
    config: { url: `${upstream.url}/forecast/{{city}}`, params: { units: '{{units}}' } },
    inputSchema: {
      type: 'object', required: ['city'],
      properties: { city: { type: 'string' }, units: { type: 'string', description: 'metric or imperial' } },
    },
  });
}

/** The names of the chosen tools in order. */
const orderOf = (page: Page) => page.getByRole('grid', { name: 'Tools of this agent' }).getByRole('row').getByRole('code');

const rowOf = (page: Page, name: string) => page.getByRole('row', { name });

/** Drags a tool by its handle onto the upper edge of another. */
async function drawBefore(page: Page, name: string, before: string): Promise<void> {
  const handle = await rowOf(page, name).getByRole('button', { name: `Drag ${name}` }).boundingBox();
  const place = await rowOf(page, before).boundingBox();
  if (handle === null || place === null) throw new Error('not to be seen');
  await page.mouse.move(handle.x + handle.width / 2, handle.y + handle.height / 2);
  await page.mouse.down();
  await page.mouse.move(place.x + 60, place.y + place.height / 2, { steps: 6 });
  await page.mouse.move(place.x + 60, place.y + 3, { steps: 6 });
  await page.mouse.up();
}

test('an agent is saved with its tools, their order and their values', async ({ console: page, haft, upstream }) => {
  const weather = await weatherTool(haft, upstream);
  await page.getByRole('link', { name: 'Agents' }).click();
  await page.getByRole('button', { name: 'New agent' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('travel_guide');
  await page.getByLabel('System prompt').fill('You plan trips.');
  for (const title of ['Calculator', 'Date and time', 'weather_forecast']) {
    await page.getByRole('region', { name: 'Tools' }).getByText(title, { exact: true }).click();
    await expect(page.getByRole('checkbox', { name: title, exact: true })).toBeChecked();
  }
  await expect(orderOf(page)).toHaveText(['calculator', 'datetime', 'weather_forecast']);

  await page.getByRole('button', { name: 'More for weather_forecast' }).click();
  await page.getByRole('menuitem', { name: 'Move up' }).click();
  await expect(orderOf(page)).toHaveText(['calculator', 'weather_forecast', 'datetime']);
  await drawBefore(page, 'datetime', 'calculator');
  await expect(orderOf(page)).toHaveText(['datetime', 'calculator', 'weather_forecast']);

  await page.getByRole('button', { name: 'Configure weather_forecast' }).click();
  const drawer = page.getByRole('dialog', { name: 'weather_forecast' });
  await drawer.getByRole('radiogroup', { name: 'Who decides units' }).getByRole('radio', { name: 'Fixed' }).click();
  await drawer.getByLabel('Value of units').fill('metric');
  await drawer.getByRole('button', { name: 'Done' }).click();
  await expect(rowOf(page, 'weather_forecast')).toContainText('1 fixed');
  await page.getByRole('button', { name: 'Create agent' }).click();
  await expect(page.getByRole('heading', { name: 'travel_guide', level: 1 })).toBeVisible();
  await expect(page).toHaveURL(/\/agents\/(?!new)/);

  await page.reload();
  await expect(orderOf(page)).toHaveText(['datetime', 'calculator', 'weather_forecast']);
  await expect(page.getByLabel('System prompt')).toHaveValue('You plan trips.');
  await page.getByRole('button', { name: 'Configure weather_forecast' }).click();
  await expect(page.getByLabel('Value of units')).toHaveValue('metric');

  const agent = await haft.api<Agent>('GET', '/api/agents/travel_guide');
  const stored = agent.bindings.toSorted((a, b) => a.sortOrder - b.sortOrder);
  const ids = await Promise.all(['datetime', 'calculator'].map(async (name) => (await haft.api<{ id: string }>('GET', `/api/tools/${name}`)).id));
  expect(stored.map((binding) => binding.toolId)).toEqual([...ids, weather.id]);
  expect(stored[2]?.toolConfig).toEqual({ $fixed: { units: 'metric' } });
});

test('tools are ordered and disabled by keyboard', async ({ console: page, haft }) => {
  const made = await haft.api<Agent>('POST', '/api/agents', { name: 'helper', toolIds: ['calculator', 'datetime', 'string'] });
  await page.goto(`${haft.url}/agents/${made.id}`);
  await rowOf(page, 'calculator').focus();
  await page.keyboard.press('End');
  await page.keyboard.press('Tab');
  await expect(page.getByRole('button', { name: 'Drag string' })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('button', { name: 'Insert after string' })).toBeFocused();
  await page.keyboard.press('Home');
  await expect(page.getByRole('button', { name: 'Insert before calculator' })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(orderOf(page)).toHaveText(['string', 'calculator', 'datetime']);
  await page.getByRole('switch', { name: 'Enable calculator' }).press('Space');
  await expect(page.getByText('2 of 3 on')).toBeVisible();
  await page.keyboard.press('Control+s');
  await expect(page.getByText('Unsaved changes')).toBeHidden();

  const agent = await haft.api<Agent>('GET', `/api/agents/${made.id}`);
  const stored = agent.bindings.toSorted((a, b) => a.sortOrder - b.sortOrder);
  expect(stored.map((binding) => [binding.toolId, binding.isEnabled])).toEqual([['string', true], ['calculator', false], ['datetime', true]]);
});

test('a conflicting save is reported and overwrites nothing', async ({ console: page, haft }) => {
  const made = await haft.api<Agent>('POST', '/api/agents', { name: 'helper', systemPrompt: 'First.' });
  await page.goto(`${haft.url}/agents/${made.id}`);
  await page.getByLabel('System prompt').fill('Mine.');
  await haft.api('PATCH', `/api/agents/${made.id}`, { systemPrompt: 'Theirs.' });
  await expect(page.getByText('Another user has changed this agent.')).toBeVisible();

  await page.getByRole('button', { name: 'Save' }).click();
  const conflict = page.getByRole('dialog', { name: 'Changed while you were editing' });
  await expect(conflict).toContainText('Version 2 was saved');
  await conflict.getByRole('button', { name: 'Back to editing' }).click();
  expect((await haft.api<Agent>('GET', `/api/agents/${made.id}`)).systemPrompt).toBe('Theirs.');

  await page.getByRole('button', { name: 'Discard mine and reload' }).click();
  await expect(page.getByLabel('System prompt')).toHaveValue('Theirs.');
  await expect(page.getByText('Another user has changed this agent.')).toBeHidden();
  await page.getByLabel('System prompt').fill('Mine, after theirs.');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Unsaved changes')).toBeHidden();
  expect((await haft.api<Agent>('GET', `/api/agents/${made.id}`)).systemPrompt).toBe('Mine, after theirs.');
});

test('keeping mine merges it with the changes of the other user', async ({ console: page, haft }) => {
  const made = await haft.api<Agent>('POST', '/api/agents', { name: 'helper', systemPrompt: 'First.', description: 'First.' });
  await page.goto(`${haft.url}/agents/${made.id}`);
  await page.getByLabel('System prompt').fill('Mine.');
  await haft.api('PATCH', `/api/agents/${made.id}`, { systemPrompt: 'Theirs.', description: 'Theirs.' });
  await page.getByRole('button', { name: 'Compare and keep mine' }).click();
  const conflict = page.getByRole('dialog', { name: 'Changed while you were editing' });
  await expect(conflict.getByText('Theirs.').first()).toBeVisible();
  await expect(conflict.getByText('Mine.').first()).toBeVisible();
  await conflict.getByRole('button', { name: 'Keep mine' }).click();
  await expect(conflict).toBeHidden();
  await expect(page.getByText('Unsaved changes')).toBeHidden();
  await expect(page.getByRole('textbox', { name: 'Description' })).toHaveValue('Theirs.');
  const stored = await haft.api<Agent & { description: string }>('GET', `/api/agents/${made.id}`);
  expect([stored.systemPrompt, stored.description]).toEqual(['Mine.', 'Theirs.']);
});

test('leaving with unsaved changes asks for confirmation', async ({ console: page, haft }) => {
  const made = await haft.api<Agent>('POST', '/api/agents', { name: 'helper', description: 'The first description.' });
  await page.goto(`${haft.url}/agents/${made.id}`);
  await page.getByRole('textbox', { name: 'Description' }).fill('Changed.');
  await page.getByRole('link', { name: 'Tools', exact: true }).click();
  const question = page.getByRole('dialog', { name: 'Leave without saving?' });
  await question.getByRole('button', { name: 'Cancel' }).click();
  await expect(page.getByRole('textbox', { name: 'Description' })).toHaveValue('Changed.');

  await page.getByRole('link', { name: 'Tools', exact: true }).click();
  await question.getByRole('button', { name: 'Leave' }).click();
  await expect(page.getByRole('heading', { name: 'Tools', level: 1 })).toBeVisible();
  expect((await haft.api<Agent & { description: string }>('GET', `/api/agents/${made.id}`)).description).toBe('The first description.');

  await page.goBack();
  await expect(page.getByRole('textbox', { name: 'Description' })).toHaveValue('The first description.');
});

test('model settings are saved and survive a reload', async ({ console: page, haft }) => {
  const made = await haft.api<Agent>('POST', '/api/agents', { name: 'helper', toolIds: ['calculator', 'datetime'] });
  await page.goto(`${haft.url}/agents/${made.id}`);
  const numbers: [label: string, value: string][] = [
    ['Temperature', '0.35'], ['Max tokens', '2048'], ['Max steps', '7'], ['Calls per turn', '24'], ['Seconds per turn', '90'], ['Tokens per turn', '150000'],
  ];
  await page.getByRole('button', { name: 'More settings' }).click();
  for (const [label, value] of numbers) await page.getByLabel(label, { exact: true }).fill(value);
  await page.getByRole('button', { name: /Tool choice/ }).click();
  await page.getByRole('option', { name: 'Always calculator' }).click();
  for (const name of ['Parallel tool calls', 'Resume automatically']) {
    await expect(page.getByRole('switch', { name })).toBeChecked();
    await page.getByText(name, { exact: true }).click();
    await expect(page.getByRole('switch', { name })).not.toBeChecked();
  }
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Unsaved changes')).toBeHidden();

  await page.reload();
  await page.getByRole('button', { name: 'More settings' }).click();
  for (const [label, value] of numbers) await expect(page.getByLabel(label, { exact: true })).toHaveValue(value);
  await expect(page.getByRole('button', { name: /Tool choice/ })).toContainText('Always calculator');
  for (const name of ['Parallel tool calls', 'Resume automatically']) await expect(page.getByRole('switch', { name })).not.toBeChecked();
  const kept = async () => (await haft.api<{ config: object }>('GET', `/api/agents/${made.id}`)).config;
  expect(await kept()).toMatchObject({
    temperature: 0.35, maxTokens: 2048, maxSteps: 7, toolChoice: { type: 'function', function: { name: 'calculator' } },
    parallelToolCalls: false, resume: 'manual', maxCalls: 24, maxSeconds: 90, maxTotalTokens: 150_000,
  });

  // An emptied field resets to the default of the model or the server.
  for (const label of ['Temperature', 'Max tokens', 'Calls per turn']) await page.getByLabel(label, { exact: true }).fill('');
  await page.getByRole('button', { name: /Tool choice/ }).click();
  await page.getByRole('option', { name: 'Model default' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Unsaved changes')).toBeHidden();
  expect(await kept()).toMatchObject({ temperature: null, maxTokens: null, toolChoice: null, maxSteps: 7, maxSeconds: 90 });
  await page.getByLabel('Temperature', { exact: true }).fill('9');
  await page.getByLabel('Temperature', { exact: true }).press('Tab');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByLabel('Temperature', { exact: true })).toHaveAttribute('aria-invalid', 'true');
  expect(await kept()).toMatchObject({ temperature: null });
});

test('the example agent is created, duplicated and deleted', async ({ console: page, haft }) => {
  await haft.api('DELETE', '/api/agents/sample_assistant');
  await page.goto(`${haft.url}/agents`);
  await page.getByRole('button', { name: 'Create an example agent' }).click();
  await expect(orderOf(page)).toHaveText(['calculator', 'datetime', 'string']);
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Duplicate' }).click();
  await expect(page.getByRole('heading', { name: 'assistant copy', level: 1 })).toBeVisible();
  await expect(orderOf(page)).toHaveText(['calculator', 'datetime', 'string']);

  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete agent' }).click();
  await expect(page).toHaveURL(/\/agents$/);
  await expect(page.getByRole('link', { name: /^assistant/ })).toHaveCount(1);
});
