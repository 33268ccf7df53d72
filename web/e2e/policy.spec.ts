// The strict policy holds: nothing that the console does is refused by it, and nothing is asked of anybody else.
import type { Page } from '@playwright/test';

import { dialogs } from './support/dialogs';
import { furnish } from './support/furnished';
import { expect, test } from './support/haft';
import { ENGLISH, moments, visit } from './support/moments';
import { pages } from './support/pages';

test.use({ actionTimeout: 15_000 });

/** Collects what the browser refused, what went wrong in the page, and who else was asked. */
async function watch(page: Page, origin: string): Promise<{ found: string[]; at: (name: string) => void }> {
  const found: string[] = [];
  let now = 'login';
  const note = (what: string) => found.push(`${now}: ${what}`);
  await page.exposeFunction('refused', note);
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      const { refused } = window as Window & { refused?: (what: string) => void };
      refused?.(`${event.violatedDirective} refused ${event.blockedURI} ${event.sample} (${event.sourceFile}:${event.lineNumber})`);
    });
  });
  page.on('pageerror', (error) => note(error.message));
  page.on('console', (message) => {
    // A call that is meant to fail is told by the browser, too.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) note(message.text());
  });
  page.on('request', (request) => {
    const { protocol, origin: asked } = new URL(request.url());
    if (asked !== origin && protocol !== 'data:' && protocol !== 'blob:') note(`asked ${request.url()}`);
  });
  return { found, at: (name) => { now = name; } };
}

test('the page comes with a policy that lets nothing inline and nothing foreign in', async ({ request, haft }) => {
  const answer = await request.get(`${haft.url}/tools`);
  const policy = answer.headers()['content-security-policy'] ?? '';
  expect(policy).toContain("default-src 'self'");
  expect(policy).not.toContain('unsafe');
  expect(policy).toContain("frame-ancestors 'none'");
});

test('no page, editor, chart or dialog does what the policy refuses', async ({ console: page, haft, upstream }) => {
  test.setTimeout(300_000);
  const made = await furnish(haft, upstream);
  const { found, at } = await watch(page, haft.url);
  for (const [name, path] of pages(made)) {
    at(name);
    await visit(page, haft.url + path);
  }
  for (const { name, path, come } of [...moments(made), ...dialogs(made)]) {
    at(name);
    await visit(page, haft.url + path);
    await come(page, ENGLISH);
  }
  at('chart');
  await visit(page, haft.url);
  const chart = page.getByRole('figure').first();
  await expect(chart.locator('canvas')).toBeVisible();
  await chart.hover();
  at('login');
  await visit(page, `${haft.url}/login`);
  expect(found).toEqual([]);
});

test('neither a drag, typing in an editor nor a file does what the policy refuses', async ({ console: page, haft, upstream }) => {
  const made = await furnish(haft, upstream);
  const { found, at } = await watch(page, haft.url);
  at('drag');
  await visit(page, `${haft.url}/agents/${made.agent.id}`);
  const rows = page.getByRole('grid', { name: 'Tools of this agent' }).getByRole('row');
  await expect(rows).toHaveCount(3);
  await rows.last().dragTo(rows.first(), { targetPosition: { x: 60, y: 4 } });
  await expect(rows.first()).toContainText('datetime');

  at('editor');
  await visit(page, `${haft.url}/tools/${made.weather.id}?tab=try`);
  await page.getByRole('radio', { name: 'JSON' }).click();
  const editor = page.getByRole('textbox', { name: 'Arguments' });
  await editor.pressSequentially('{"city": "Oslo');
  await editor.press('Control+a');
  await editor.pressSequentially('{"city": "Bergen", "days": 2');
  await editor.press('Control+Enter');
  await expect(page.getByText('Succeeded', { exact: true })).toBeVisible();

  at('files');
  await visit(page, `${haft.url}/settings?tab=files`);
  const chosen = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Upload' }).click();
  await (await chosen).setFiles({ name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') });
  const kept = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download note.txt' }).click();
  expect((await kept).suggestedFilename()).toBe('note.txt');
  expect(found).toEqual([]);
});
