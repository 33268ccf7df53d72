// The console at 390 px: no page is wider than the screen, and pressable elements are large enough.
import type { Page } from '@playwright/test';

import { makeGuide } from './support/chat';
import { startConversation } from './support/conversations';
import { expect, type Haft, test } from './support/haft';

test.use({ viewport: { width: 390, height: 844 } });

/** A name of 65 characters. */
const LONG = 'averyveryverylongnameofanargumentthatsomeimporterhastakenasitwas12';

async function makePay(haft: Haft, url: string): Promise<string> {
  const { id } = await haft.api<{ id: string }>('POST', '/api/tools', {
    name: 'pay', description: 'Pays.', type: 'http', policy: 'ask', config: { method: 'POST', url: `${url}/payments`, body: { amount: `{{${LONG}}}` } },
    inputSchema: {
      type: 'object', required: [LONG, `${LONG}_on`],
      properties: {
        [LONG]: { type: 'string', title: LONG }, [`${LONG}_on`]: { type: 'boolean' }, [`${LONG}_all`]: { type: 'object', properties: { [LONG]: { type: 'string' } } },
        [`${LONG}_list`]: { type: 'array', items: { type: 'object', properties: { [LONG]: { type: 'number' } } } },
      },
    },
  });
  return id;
}

const overflow = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);

test('a long argument name widens no page', async ({ console: page, haft, upstream }) => {
  const pay = await makePay(haft, upstream.url);
  const args = { [LONG]: 'x', [`${LONG}_on`]: true, [`${LONG}_all`]: { [LONG]: 'y' } };
  const conversation = await startConversation(haft, { name: 'payer', toolIds: [pay] }, [{ toolCalls: [{ name: 'pay', arguments: args }] }, { text: 'Done.' }], 'Pay', { detach: true });
  const { items: [agent] } = await haft.api<{ items: { id: string; name: string }[] }>('GET', '/api/agents?q=payer');
  for (const path of [
    `/tools/${pay}`, `/tools/${pay}?tab=definition`, `/tools/${pay}?tab=definition&part=arguments`, '/approvals', `/chat/${conversation}`, '/tasks', '/calls', `/agents/${agent?.id}`,
  ]) {
    await page.goto(haft.url + path);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    if (path === '/approvals' || path.startsWith('/chat/')) await expect(page.getByRole('button', { name: 'Deny' })).toBeVisible();
    await page.waitForLoadState('networkidle', { timeout: 3000 }).catch(() => undefined);
    expect(await overflow(page), path).toBeLessThanOrEqual(0);
  }
});

test('the pages in the bottom bar do not touch, and the others are in a menu', async ({ console: page, haft, upstream }) => {
  await makeGuide(haft, upstream);
  for (const language of ['en', 'zh']) {
    await page.evaluate((spoken) => localStorage.setItem('haft.language', spoken), language);
    await page.goto(haft.url);
    const nav = page.getByRole('navigation', { name: language === 'en' ? 'Pages' : '页面' });
    await expect(nav.getByRole('button')).toBeVisible();
    const boxes = await nav.locator('a, button').evaluateAll((all) => all.map((one) => {
      const { left, right, height } = one.getBoundingClientRect();
      return { left, right, height, text: one.scrollWidth - one.clientWidth };
    }));
    expect(boxes).toHaveLength(5);
    boxes.forEach((box, at) => {
      expect(box.right - box.left).toBeGreaterThanOrEqual(44);
      expect(box.height).toBeGreaterThanOrEqual(44);
      expect(box.text).toBeLessThanOrEqual(0);
      const next = boxes[at + 1];
      if (next !== undefined) expect(next.left - box.right).toBeGreaterThanOrEqual(4);
    });
  }
  await page.getByRole('button', { name: '菜单' }).click();
  await page.getByRole('menuitemradio', { name: '任务' }).click();
  await expect(page.getByRole('heading', { name: '任务', level: 1 })).toBeVisible();
});

test('the badge of Approvals is part of the accessible name of its link', async ({ console: page, haft, upstream }) => {
  const pay = await makePay(haft, upstream.url);
  await startConversation(haft, { name: 'payer', toolIds: [pay] }, [{ toolCalls: [{ name: 'pay', arguments: { [LONG]: 'x', [`${LONG}_on`]: true } }] }, { text: 'Done.' }], 'Pay', { detach: true });
  await expect(page.getByRole('link', { name: 'Approvals 1 waiting' })).toBeVisible();
});
