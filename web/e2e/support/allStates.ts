// Rarely seen states: empty pages, an unknown address, and tabs that are not open at first.
import { expect, type Page } from '@playwright/test';

import { dialogs, sharedDialogs } from './dialogs';
import { pages } from './pages';
import { commonStates, type PageState, type Say } from './pageStates';
import type { SampleData } from './sampleData';

const doNothing = () => Promise.resolve();

/** Pages that look different on an empty server. */
export const EMPTY: readonly PageState[] = [
  '/', '/chat', '/calls', '/tasks', '/approvals', '/agents', ...['secrets', 'providers', 'alerts', 'files'].map((tab) => `/settings?tab=${tab}`),
].map((path) => ({ name: `empty ${path}`, path, prepare: doNothing }));

/** All states of a furnished server, including its settings. */
export function allStates(made: SampleData): PageState[] {
  return [
    ...pages(made).map(([name, path]): PageState => ({ name, path, prepare: doNothing })),
    ...commonStates(made),
    ...rareStates(made),
    ...dialogs(made),
    ...sharedDialogs(),
    { name: 'login', path: '/login', prepare: doNothing },
    { name: 'login refused', path: '/login', prepare: refuse },
  ];
}

const PARTS: readonly (readonly [en: string, zh: string])[] = [['Headers', '请求头'], ['Body', '请求体'], ['Auth', '认证'], ['Safety', '安全'], ['Arguments', '工具参数'], ['Response', '响应'], ['Limits', '限制']];

const DEFERRED_MODES: readonly (readonly [en: string, zh: string])[] = [['Polling', '轮询查询'], ['Callback', '回调通知']];

async function chooseDeferredMode(page: Page, say: Say, way: string): Promise<void> {
  await page.getByRole('tab', { name: say('Response', '响应') }).click();
  await page.getByRole('button', { name: new RegExp(say('Result mode', '结果如何返回')) }).click();
  await page.getByRole('option', { name: new RegExp(way) }).click();
  await page.getByRole('tabpanel').getByRole('button', { name: say('More', '更多'), exact: true }).click();
  await expect(page.getByRole('textbox', { name: say('Done when', '完成条件'), exact: true })).toBeVisible();
}

function rareStates({ weather }: SampleData): PageState[] {
  const parts = PARTS.map((name): PageState => ({
    name: `definition, ${name[0]}`, path: `/tools/${weather.id}?tab=definition`,
    prepare: async (page, say) => {
      await page.getByRole('tab', { name: say(...name) }).click();
      await expect(page.getByRole('tabpanel', { name: say(...name) })).toBeVisible();
    },
  }));
  return [
    ...parts,
    ...DEFERRED_MODES.map((way): PageState => ({
      name: `definition, ${way[0]}`, path: `/tools/${weather.id}?tab=definition`, prepare: (page, say) => chooseDeferredMode(page, say, say(...way)),
    })),
    { name: 'import, preview', path: '/tools/import', prepare: preview },
    { name: 'no such tool', path: '/tools/no_such_tool', prepare: doNothing },
    { name: 'no such page', path: '/no/such/page', prepare: doNothing },
    { name: 'no such call', path: '/calls?status=cancelled', prepare: doNothing },
  ];
}

async function preview(page: Page, say: Say): Promise<void> {
  const answer = { responses: { 200: { description: 'Done.' } } };
  await page.getByRole('textbox', { name: say('Or paste it', '或粘贴内容') }).fill(JSON.stringify({
    openapi: '3.1.0', info: { title: 'Shop', version: '1' }, servers: [{ url: 'https://shop.example' }],
    paths: { '/orders': { get: { operationId: 'listOrders', ...answer }, post: { operationId: 'createOrder', ...answer } } },
  }));
  await page.getByRole('button', { name: say('Preview', '预览') }).click();
  await expect(page.getByRole('checkbox', { name: 'POST /orders' })).toBeVisible();
}

async function refuse(page: Page, say: Say): Promise<void> {
  await page.getByRole('textbox', { name: say('Name', '用户名') }).fill('admin');
  await page.getByLabel(say('Password', '密码')).and(page.locator('input')).fill('not the one');
  await page.getByRole('button', { name: say('Sign in', '登录') }).click();
  await expect(page.getByRole('alert')).toBeVisible();
}
