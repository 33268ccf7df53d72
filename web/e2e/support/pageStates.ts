// States inside a page: a filled form, a result, an open panel or a comparison; in both languages.
import { expect, type Page } from '@playwright/test';

import type { SampleData } from './sampleData';

export type Say = (en: string, zh: string) => string;
export const ENGLISH: Say = (en) => en;
export const CHINESE: Say = (_en, zh) => zh;

export interface PageState {
  name: string;
  path: string;
  prepare: (page: Page, say: Say) => Promise<void>;
}

/** Opens an address, and waits until the page has its data. */
export async function visit(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await settled(page);
}

export async function settled(page: Page): Promise<void> {
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expect(page.getByRole('status').filter({ hasText: /Loading…|加载中…/ })).toHaveCount(0);
}

/** The most common states. */
export function commonStates({ weather, agent, talks }: SampleData): PageState[] {
  return [
    { name: 'talk-call', path: `/chat/${talks.weather}`, prepare: openCall },
    { name: 'talk-call-failed', path: `/chat/${talks.weather}`, prepare: openFailed },
    { name: 'talk-edit', path: `/chat/${talks.weather}`, prepare: editMessage },
    { name: 'talk-pending', path: `/chat/${talks.waiting}`, prepare: lookAtPending },
    { name: 'talk-asked', path: `/chat/${talks.waiting}`, prepare: editApproval },
    { name: 'talk-list', path: `/chat/${talks.weather}`, prepare: showList },
    { name: 'tool-run', path: `/tools/${weather.id}?tab=try`, prepare: runWeather },
    { name: 'tool-refused', path: `/tools/${weather.id}?tab=try`, prepare: runNothing },
    { name: 'tool-filled', path: '/tools/new', prepare: fillTool },
    { name: 'tool-pasted', path: '/tools/new', prepare: pasteCommand },
    { name: 'tool-compared', path: `/tools/${weather.id}?tab=versions`, prepare: compareVersions },
    { name: 'call-open', path: '/calls', prepare: openFailedCall },
    { name: 'call-again', path: '/calls', prepare: editCall },
    {
      name: 'agent-tool', path: `/agents/${agent.id}`,
      prepare: async (page, say) => {
        await page.getByRole('button', { name: say('Configure weather_forecast', '配置 weather_forecast') }).click();
        await expect(page.getByRole('dialog').getByText('city').first()).toBeVisible();
      },
    },
  ];
}

async function openCall(page: Page, say: Say): Promise<void> {
  await page.getByRole('button', { name: /weather_forecast city: Oslo/ }).click();
  await expect(page.getByRole('tree', { name: say('Result', '结果') })).toContainText('21.5');
  await page.getByRole('button', { name: say('Reasoning', '思考过程') }).click();
}

async function openFailed(page: Page, say: Say): Promise<void> {
  const failed = page.getByRole('button', { name: new RegExp(`${say('Failed', '失败')} calculator`) });
  await failed.scrollIntoViewIfNeeded();
  await failed.click();
  await expect(page.getByRole('alert')).toBeVisible();
  await failed.scrollIntoViewIfNeeded();
}

async function lookAtPending(page: Page): Promise<void> {
  const pending = page.getByRole('button', { name: /make_report/ });
  await expect(pending).toBeVisible();
  await pending.scrollIntoViewIfNeeded();
}

async function editMessage(page: Page, say: Say): Promise<void> {
  const edit = page.getByRole('button', { name: say('Edit', '编辑'), exact: true }).first();
  // The button is visible on hover and focus.
  await edit.focus();
  await edit.press('Enter');
  await expect(page.getByRole('textbox', { name: say('Your message', '你的消息') })).toBeFocused();
}

async function editApproval(page: Page, say: Say): Promise<void> {
  await page.getByRole('group', { name: say('Tool calls', '工具调用') }).getByRole('button', { name: say('Edit', '编辑'), exact: true }).click();
  await expect(page.getByRole('button', { name: say('Approve as edited', '按修改后的参数批准') })).toBeVisible();
}

/** Shows the list: beside the page where there is room, else in a drawer. */
async function showList(page: Page, say: Say): Promise<void> {
  const opens = page.getByRole('button', { name: say('Conversations', '对话列表'), exact: true });
  const list = page.getByRole('navigation', { name: say('Conversations', '对话'), exact: true });
  await expect(opens.or(list).filter({ visible: true }).first()).toBeVisible();
  if (await opens.isVisible()) await opens.click();
  await expect(list.filter({ visible: true }).getByRole('link')).toHaveCount(2);
}

async function runWeather(page: Page, say: Say): Promise<void> {
  await page.getByLabel('City').fill('Oslo');
  await page.getByRole('button', { name: say('Run', '运行'), exact: true }).click();
  await expect(page.getByText('21.5')).toBeVisible();
}

async function runNothing(page: Page, say: Say): Promise<void> {
  // Clears the values remembered from an earlier test.
  await page.getByRole('button', { name: say('Start over', '重新填写') }).click();
  await page.getByRole('button', { name: say('Run', '运行'), exact: true }).click();
  await expect(page.getByText(say('Failed', '失败')).first()).toBeVisible();
}

async function fillTool(page: Page, say: Say): Promise<void> {
  await page.getByRole('textbox', { name: say('Name', '名称'), exact: true }).fill('search_flights');
  await page.getByRole('textbox', { name: say('Title', '标题'), exact: true }).fill(say('Search flights', '搜索航班'));
  await page.getByRole('textbox', { name: say('Category', '分类'), exact: true }).fill('travel');
  await page.getByRole('textbox', { name: say('Description', '描述'), exact: true }).fill(say(
    'Finds flights between two airports on a day, cheapest first. Use it for questions about flights.',
    '查询两个机场之间某天的航班，按价格从低到高排列。当有人想坐飞机时使用。',
  ));
  await page.getByRole('textbox', { name: 'URL', exact: true }).fill('https://flights.example/v2/from/{{origin}}/to/{{destination}}?day={{day}}');
  // The panels derived from the form are beside it.
  await expect(page.getByText('"destination"').first()).toBeVisible();
}

async function pasteCommand(page: Page, say: Say): Promise<void> {
  await page.getByRole('button', { name: say('Paste a cURL command', '粘贴 cURL 命令') }).click();
  await expect(page.getByRole('dialog').getByRole('textbox')).toBeVisible();
}

async function compareVersions(page: Page, say: Say): Promise<void> {
  await page.getByRole('radio', { name: say('Side by side', '并排对照') }).click();
  await expect(page.getByText('Forecast for a city over the next days.').last()).toBeVisible();
}

async function openFailedCall(page: Page): Promise<void> {
  await page.getByRole('row').filter({ hasText: '404' }).getByRole('link', { name: 'search_orders' }).click();
  await expect(page.getByRole('dialog', { name: 'search_orders' }).getByRole('tree').first()).toBeVisible();
}

async function editCall(page: Page, say: Say): Promise<void> {
  await openFailedCall(page);
  await page.getByRole('button', { name: say('Edit and replay', '编辑后重放') }).click();
  await expect(page.getByRole('textbox', { name: say('Arguments', '参数') })).toBeVisible();
}
