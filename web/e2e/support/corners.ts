// What is seen less often: the first day, when all is empty; an address at which there is nothing; parts behind another.
import { expect, type Page } from '@playwright/test';

import { dialogs, sharedDialogs } from './dialogs';
import type { Furnished } from './furnished';
import { type Moment, moments, type Say } from './moments';
import { pages } from './pages';

const still = () => Promise.resolve();

/** Pages that look otherwise before anything was made. */
export const EMPTY: readonly Moment[] = [
  '/', '/chat', '/calls', '/tasks', '/approvals', '/agents', ...['secrets', 'providers', 'alerts', 'files'].map((tab) => `/settings?tab=${tab}`),
].map((path) => ({ name: `empty ${path}`, path, come: still }));

/** All there is to see of a Haft that is furnished, its settings too. */
export function everywhere(made: Furnished): Moment[] {
  return [
    ...pages(made).map(([name, path]): Moment => ({ name, path, come: still })),
    ...moments(made),
    ...corners(made),
    ...dialogs(made),
    ...sharedDialogs(),
    { name: 'login', path: '/login', come: still },
    { name: 'login refused', path: '/login', come: refuse },
  ];
}

const PARTS: readonly (readonly [en: string, zh: string])[] = [['Headers', '请求头'], ['Body', '请求体'], ['Auth', '认证'], ['Safety', '安全'], ['Arguments', '工具参数'], ['Response', '响应'], ['Limits', '限制']];

const LATER: readonly (readonly [en: string, zh: string])[] = [['It is asked again', '轮询查询'], ['It calls back', '回调通知']];

async function answerLater(page: Page, say: Say, way: string): Promise<void> {
  await page.getByRole('tab', { name: say('Response', '响应') }).click();
  await page.getByRole('button', { name: new RegExp(say('How the answer comes', '结果如何返回')) }).click();
  await page.getByRole('option', { name: new RegExp(way) }).click();
  await page.getByRole('tabpanel').getByRole('button', { name: say('More', '更多'), exact: true }).click();
  await expect(page.getByRole('textbox', { name: say('Done when', '完成条件'), exact: true })).toBeVisible();
}

function corners({ weather }: Furnished): Moment[] {
  const parts = PARTS.map((name): Moment => ({
    name: `definition, ${name[0]}`, path: `/tools/${weather.id}?tab=definition`,
    come: async (page, say) => {
      await page.getByRole('tab', { name: say(...name) }).click();
      await expect(page.getByRole('tabpanel', { name: say(...name) })).toBeVisible();
    },
  }));
  return [
    ...parts,
    ...LATER.map((way): Moment => ({
      name: `definition, ${way[0]}`, path: `/tools/${weather.id}?tab=definition`, come: (page, say) => answerLater(page, say, say(...way)),
    })),
    { name: 'import, preview', path: '/tools/import', come: preview },
    { name: 'no such tool', path: '/tools/no_such_tool', come: still },
    { name: 'no such page', path: '/no/such/page', come: still },
    { name: 'no such call', path: '/calls?status=cancelled', come: still },
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
