// Fixtures for chat tests: a server with a model, an agent with tools, and the user's actions in the chat.
import type { Page } from '@playwright/test';

import { type Haft, test as base, type Upstream } from './haft';
import { Model } from './model';

export interface Agent {
  id: string;
  name: string;
}

export const test = base.extend<{ model: Model }>({
  model: async ({}, use) => {
    const model = await Model.start();
    await use(model);
    await model.stop();
  },
  environment: async ({ model }, use) => {
    await use({ OPENAI_API_KEY: 'sk-of-the-test', OPENAI_BASE_URL: model.url, HAFT_ALLOW_PRIVATE_NETWORKS: '127.0.0.0/8' });
  },
});

/** Creates an agent with a weather tool, a background report, and a payment that needs approval. */
export async function makeGuide(haft: Haft, upstream: Upstream): Promise<Agent> {
  const tools = [
    {
      name: 'weather', description: 'The weather of a city.', type: 'http', config: { url: `${upstream.url}/weather/{{city}}` }, retryCount: 0,
      inputSchema: { type: 'object', required: ['city'], properties: { city: { type: 'string' } } },
    },
    {
      name: 'report', description: 'Makes a report.', type: 'http', async: true, config: { url: `${upstream.url}/report?month={{month}}` }, retryCount: 0,
      inputSchema: { type: 'object', required: ['month'], properties: { month: { type: 'string' } } },
    },
    {
      name: 'pay', description: 'Pays.', type: 'http', policy: 'ask',
      config: { method: 'POST', url: `${upstream.url}/payments`, body: { amount: '{{amount}}' } },
      inputSchema: { type: 'object', required: ['amount'], properties: { amount: { type: 'number', maximum: 1000 } } },
    },
  ];
  const toolIds: string[] = [];
  for (const tool of tools) toolIds.push((await haft.api<{ id: string }>('POST', '/api/tools', tool)).id);
  return haft.api<Agent>('POST', '/api/agents', { name: 'guide', description: 'Knows the way.', systemPrompt: 'You guide.', toolIds });
}

export const composer = (page: Page) => page.getByRole('textbox', { name: 'Message' });

export async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press('Enter');
}

/** An element that exists only after the response has ended. */
export const ended = (page: Page) => page.getByRole('button', { name: 'Answer again' });

export const call = (page: Page, name: string | RegExp) => page.getByRole('group', { name: 'Tool calls' }).getByRole('button', { name });

export { expect } from '@playwright/test';
