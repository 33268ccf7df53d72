// Every dialog, menu and list that opens over a page, each by the press that opens it.
import { expect, type Page } from '@playwright/test';

import type { Furnished } from './furnished';
import { type Moment } from './moments';

const SETTINGS: Record<string, string[]> = {
  tokens: ['New token', 'Revoke first'],
  secrets: ['Add secret', 'Delete weather_key'],
  members: ['Make a shared space'],
  spaces: ['New space'],
  users: ['New user'],
  providers: ['Add provider'],
  alerts: ['New alert'],
  changes: ['Verify the record'],
};

export function dialogs({ weather, agent }: Furnished): Moment[] {
  const settings = Object.entries(SETTINGS).flatMap(([tab, names]) => names.map((name): Moment => (
    { name, path: `/settings?tab=${tab}`, come: (page) => press(page, name) }
  )));
  const ofTool = ['Copy as cURL', 'Duplicate', 'Delete'].map((name): Moment => (
    { name: `${name} tool`, path: `/tools/${weather.id}?tab=try`, come: (page) => choose(page, name) }
  ));
  return [
    ...settings,
    ...ofTool,
    { name: 'Delete agent', path: `/agents/${agent.id}`, come: (page) => choose(page, 'Delete') },
    { name: 'Time range', path: '/calls', come: (page) => press(page, 'Time range: Any time') },
    { name: 'Theme', path: '/', come: (page) => open(page, 'Theme', 'menu') },
    { name: 'Space', path: '/', come: (page) => open(page, 'Personal', 'menu') },
    { name: 'Operation', path: '/tools/datetime?tab=try', come: (page) => open(page, /Operation/, 'listbox') },
  ];
}

async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click();
  await expect(page.getByRole('dialog')).toBeVisible();
}

async function choose(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name, exact: true }).click();
  await expect(page.getByRole('dialog').or(page.getByRole('alertdialog'))).toBeVisible();
}

async function open(page: Page, name: string | RegExp, role: 'menu' | 'listbox'): Promise<void> {
  await page.getByRole('button', { name }).click();
  await expect(page.getByRole(role)).toBeVisible();
}
