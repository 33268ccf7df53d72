// Every dialog, menu and popover, each with the press that opens it, in both languages.
import { expect, type Page } from '@playwright/test';

import { type PageState, type Say, visit } from './pageStates';
import type { SampleData } from './sampleData';
import { SHARED } from './settingsData';

/** The name of a button in both languages. */
type Name = readonly [en: string, zh: string];

const SETTINGS: Record<string, readonly Name[]> = {
  tokens: [['New token', '新建令牌'], ['Revoke first', '吊销 first']],
  secrets: [['Add secret', '添加密钥'], ['Replace the value of weather_key', '替换 weather_key 的值'], ['Delete weather_key', '删除 weather_key']],
  members: [['Create a shared space', '创建共享空间']],
  spaces: [['New space', '新建空间'], [`Rename ${SHARED}`, `重命名 ${SHARED}`], [`Delete ${SHARED}`, `删除 ${SHARED}`]],
  users: [['New user', '新建用户']],
  providers: [['Add provider', '添加模型服务'], ['Edit local', '编辑 local'], ['Delete local', '删除 local']],
  alerts: [['New alert', '新建告警'], ['Edit Much fails', '编辑 Much fails'], ['Delete Much fails', '删除 Much fails']],
  changes: [['Verify the logs', '校验记录']],
  files: [['Create a link to note.txt', '为 note.txt 创建链接'], ['Delete note.txt', '删除 note.txt']],
};

const MORE: Name = ['More', '更多'];
const MORE_FOR_ADA: Name = ['More for ada', 'ada 的更多操作'];
const MEMBERS = '/settings?tab=members';

export function dialogs({ weather, agent, task, talks }: SampleData): PageState[] {
  const settings = Object.entries(SETTINGS).flatMap(([tab, names]) => names.map((name) => dialogAt(`/settings?tab=${tab}`, name)));
  const ofTool = ([['Copy as cURL', '复制为 cURL'], ['Duplicate', '创建副本'], ['Delete', '删除']] as const).map((name): PageState => (
    { name: `${name[0]} tool`, path: `/tools/${weather.id}?tab=try`, prepare: (page, say) => choose(page, say, MORE, name) }
  ));
  const ofUser = ([['Set password…', '设置密码…'], ['Switch off…', '停用…']] as const).map((name): PageState => (
    { name: name[0], path: '/settings?tab=users', prepare: (page, say) => choose(page, say, MORE_FOR_ADA, name) }
  ));
  const ofTalk = ([['Rename', '重命名'], ['Delete', '删除']] as const).map((name): PageState => (
    { name: `${name[0]} conversation`, path: `/chat/${talks.weather}`, prepare: (page, say) => choose(page, say, MORE, name) }
  ));
  return [
    ...ofTalk,
    { name: 'Conversation', path: `/chat/${talks.weather}`, prepare: (page, say) => open(page, say(...MORE), 'menu', true) },
    { name: 'Agent of a conversation', path: '/chat', prepare: pickAgent },
    { name: 'Deny a call in a conversation', path: `/chat/${talks.waiting}`, prepare: denyFirst },
    ...settings,
    ...ofUser,
    { name: 'Created token', path: '/settings?tab=tokens', prepare: makeToken },
    { name: 'Tool of an alert', path: '/settings?tab=alerts', prepare: chooseWatched },
    ...ofTool,
    { name: 'Roll back', path: `/tools/${weather.id}?tab=versions`, prepare: rollBack },
    { name: 'Leave a tool', path: '/tools/new', prepare: leaveTool },
    { name: 'Delete agent', path: `/agents/${agent.id}`, prepare: (page, say) => choose(page, say, MORE, ['Delete', '删除']) },
    { name: 'Models', path: `/agents/${agent.id}`, prepare: (page, say) => open(page, say('Show models', '显示模型'), 'listbox') },
    { name: 'Tool of an agent', path: `/agents/${agent.id}`, prepare: (page, say) => open(page, say('More for calculator', 'calculator 的更多操作'), 'menu') },
    { name: 'Tool of the log', path: '/calls', prepare: chooseLogged },
    dialogAt('/calls', ['Time range: Any time', '时间范围: 不限时间']),
    { name: 'Deny a call', path: '/approvals', prepare: denyFirst },
    { name: 'Link to a call', path: '/approvals', prepare: linkToFirst },
    { name: 'Resolve a task', path: `/tasks?task=${task}`, prepare: resolve },
    { name: 'Theme', path: '/', prepare: (page, say) => open(page, say('Theme', '主题'), 'menu') },
    { name: 'Space', path: '/', prepare: (page, say) => open(page, say('Personal', '个人'), 'menu') },
    { name: 'Operation', path: '/tools/datetime?tab=try', prepare: (page) => open(page, /Operation/, 'listbox') },
  ];
}

/** Dialogs of the shared space. They prepare last, since the page stays in that space. */
export function sharedDialogs(): PageState[] {
  return [
    { name: 'members of a space', path: '/', prepare: enterShared },
    dialogAt(MEMBERS, ['Add member', '添加成员']),
    dialogAt(MEMBERS, ['Remove ada', '移除 ada']),
    dialogAt(MEMBERS, ['Leave', '退出']),
    { name: 'Role', path: MEMBERS, prepare: (page, say) => open(page, say('Role of ada', 'ada 的角色'), 'listbox') },
  ];
}

function dialogAt(path: string, name: Name): PageState {
  return { name: name[0], path, prepare: (page, say) => press(page, say(...name)) };
}

async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click();
  await expect(page.getByRole('dialog')).toBeVisible();
}

async function choose(page: Page, say: Say, menu: Name, name: Name): Promise<void> {
  await page.getByRole('button', { name: say(...menu), exact: true }).click();
  await page.getByRole('menuitem', { name: say(...name), exact: true }).click();
  await expect(page.getByRole('dialog')).toBeVisible();
}

async function open(page: Page, name: string | RegExp, role: 'menu' | 'listbox', exact = false): Promise<void> {
  const button = page.getByRole('button', { name, exact });
  // Scrolling closes a popover, so its button is scrolled into view first.
  await button.scrollIntoViewIfNeeded();
  await button.click();
  await expect(page.getByRole(role)).toBeVisible();
}

async function pickAgent(page: Page, say: Say): Promise<void> {
  await page.getByRole('combobox', { name: say('Agent', '智能体') }).click();
  await expect(page.getByRole('option', { name: 'concierge' })).toBeVisible();
}

async function makeToken(page: Page, say: Say): Promise<void> {
  await press(page, say('New token', '新建令牌'));
  await page.getByRole('dialog').getByRole('textbox', { name: say('Name', '名称') }).fill('a script');
  await page.getByRole('button', { name: say('Create token', '创建令牌') }).click();
  await expect(page.getByRole('dialog', { name: say('Your new token', '你的新令牌') })).toBeVisible();
}

async function chooseWatched(page: Page, say: Say): Promise<void> {
  await press(page, say('New alert', '新建告警'));
  await page.getByRole('dialog').getByRole('combobox').fill('calc');
  await expect(page.getByRole('option', { name: 'calculator' })).toBeVisible();
}

async function chooseLogged(page: Page, say: Say): Promise<void> {
  const filters = page.getByRole('button', { name: say('Filters', '筛选'), exact: true });
  const tool = page.getByRole('combobox', { name: say('Tool', '工具') });
  // On narrow screens they are behind a button.
  await expect(filters.or(tool).filter({ visible: true }).first()).toBeVisible();
  if (await filters.isVisible()) await filters.click();
  await tool.fill('calc');
  await expect(page.getByRole('option', { name: 'calculator' })).toBeVisible();
}

async function denyFirst(page: Page, say: Say): Promise<void> {
  await page.getByRole('button', { name: say('Deny', '拒绝') }).first().click();
  await expect(page.getByRole('dialog', { name: say('Deny pay?', '拒绝 pay？') })).toBeVisible();
}

async function linkToFirst(page: Page, say: Say): Promise<void> {
  await page.getByRole('button', { name: say('Copy link', '复制链接'), exact: true }).first().click();
  await expect(page.getByRole('dialog').getByRole('region', { name: say('Link', '链接') })).toBeVisible();
}

async function resolve(page: Page, say: Say): Promise<void> {
  await page.getByRole('button', { name: say('Resolve', '确认结果') }).click();
  await expect(page.getByRole('dialog', { name: say('Record the outcome', '结果如何？') }).getByRole('textbox')).toBeVisible();
}

async function rollBack(page: Page, say: Say): Promise<void> {
  await page.getByRole('button', { name: say('Version 1', '版本 1') }).click();
  await press(page, say('Roll back to this version', '恢复到此版本'));
}

async function leaveTool(page: Page, say: Say): Promise<void> {
  await page.getByRole('textbox', { name: say('Name', '名称'), exact: true }).fill('search_flights');
  await page.getByRole('link', { name: say('Overview', '概览'), exact: true }).click();
  await expect(page.getByRole('dialog', { name: say('Leave without saving?', '不保存就离开？') })).toBeVisible();
}

async function enterShared(page: Page, say: Say): Promise<void> {
  await page.getByRole('button', { name: say('Personal', '个人'), exact: true }).click();
  await page.getByRole('menuitemradio', { name: SHARED }).click();
  await expect(page.getByRole('button', { name: SHARED, exact: true })).toBeVisible();
  await visit(page, new URL(MEMBERS, page.url()).href);
  await expect(page.getByRole('main').getByText('ada', { exact: true })).toBeVisible();
}
