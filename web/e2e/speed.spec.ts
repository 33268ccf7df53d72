// Quick with much in it: ten thousand tools, a hundred calls a second, and little to load at first.
import type { Browser, Page } from '@playwright/test';

import { expect, type Haft, test } from './support/haft';
import { settled, visit } from './support/moments';

test.use({ actionTimeout: 15_000 });

/** Far more than a quick machine needs, so that only what really blocks the page is found. */
const LONGEST_TASK = 1000;
const MOST_DRAWN = 150;
const FIRST_LOAD = 300 * 1024;

const TOOLS = 10_000;
const AT_ONCE = 2_500;
const GROUPS = 40;

async function makeTools(haft: Haft): Promise<void> {
  for (let from = 0; from < TOOLS; from += AT_ONCE) {
    const tools = Array.from({ length: AT_ONCE }, (_, index) => {
      const at = String(from + index).padStart(5, '0');
      return {
        name: `lookup_${at}`, description: `Looks up what is known of item ${at} in the warehouse.`, type: 'mock',
        category: `team_${String((from + index) % GROUPS).padStart(2, '0')}`, config: { answers: [{ data: { at } }] },
      };
    });
    await haft.api('POST', '/api/tools/import', { tools });
  }
}

/** From now on the page remembers its longest task. */
async function watchTasks(page: Page): Promise<() => Promise<number>> {
  await page.addInitScript(() => {
    const watched = window as Window & { longest?: number };
    watched.longest = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) watched.longest = Math.max(watched.longest ?? 0, duration);
    }).observe({ type: 'longtask' });
  });
  return () => page.evaluate(() => (window as Window & { longest?: number }).longest ?? 0);
}

/** Calls a tool about so often a second until it is told to stop. */
function callOften(haft: Haft, perSecond: number): { stop: () => Promise<number> } {
  const going = new Set<Promise<unknown>>();
  let made = 0;
  const timer = setInterval(() => {
    for (let count = perSecond / 20; count > 0 && going.size < perSecond; count -= 1) {
      const call = haft.api('POST', '/api/tools/calculator/execute', { arguments: { expression: `${made} + 1` } }).finally(() => going.delete(call));
      going.add(call);
      made += 1;
    }
  }, 50);
  return {
    stop: async () => {
      clearInterval(timer);
      await Promise.all(going);
      return made;
    },
  };
}

test('ten thousand tools are scrolled and searched without a halt', async ({ console: page, haft }) => {
  test.setTimeout(180_000);
  await makeTools(haft);
  const longest = await watchTasks(page);
  await visit(page, `${haft.url}/tools`);
  const list = page.getByRole('region', { name: 'Tools', exact: true });
  const cards = list.getByRole('link');
  await expect(list.getByRole('link', { name: /lookup_00000/ })).toBeVisible();

  await page.mouse.move(700, 500);
  let drawn = 0;
  await expect(async () => {
    await page.mouse.wheel(0, 1200);
    drawn = Math.max(drawn, await cards.count());
    await expect(list.getByRole('heading', { name: /team_03/ })).toBeVisible({ timeout: 100 });
  }, 'several teams further down').toPass({ timeout: 90_000, intervals: [0] });
  expect(drawn).toBeLessThan(MOST_DRAWN);

  await page.getByRole('searchbox', { name: 'Search tools' }).fill('item 07777');
  await expect(cards).toHaveCount(1);
  await expect(cards).toContainText('lookup_07777');
  await page.getByRole('searchbox', { name: 'Search tools' }).fill('');
  await page.getByRole('navigation', { name: 'Categories' }).getByRole('link', { name: /team_39/ }).click();
  await expect(list.getByRole('link', { name: /lookup_00039/ })).toBeVisible();
  expect(await cards.count()).toBeLessThan(MOST_DRAWN);
  expect(await longest()).toBeLessThan(LONGEST_TASK);
});

test('a log of a hundred calls a second is live, and holds still for who reads it', async ({ console: page, haft }) => {
  test.setTimeout(120_000);
  for (let count = 0; count < 120; count += 1) await haft.api('POST', '/api/tools/calculator/execute', { arguments: { expression: `${count}` } });
  const longest = await watchTasks(page);
  await visit(page, `${haft.url}/calls`);
  const links = page.getByRole('table', { name: 'Calls' }).getByRole('link');
  const newest = () => links.first().getAttribute('href');
  await expect(links.first()).toBeVisible();
  const calls = callOften(haft, 100);
  try {
    const before = await newest();
    await expect.poll(newest).not.toBe(before);
    const then = await newest();
    await expect.poll(newest, { message: 'it goes on' }).not.toBe(then);
    expect(await links.count()).toBeLessThan(MOST_DRAWN);

    // Reading further down: new calls are counted, and what is read stays where it is.
    await page.mouse.move(700, 500);
    await page.mouse.wheel(0, 1600);
    const fresh = page.getByRole('button', { name: /new calls/ });
    await expect(fresh).toBeAttached();
    const place = await lineAt(page, 400);
    const said = await fresh.textContent();
    await expect(fresh).not.toHaveText(said ?? '');
    expect(await lineAt(page, 400)).toEqual(place);

    await fresh.click();
    await expect.poll(() => page.evaluate(() => window.scrollY)).toBe(0);
    const at = await newest();
    await expect.poll(newest).not.toBe(at);
    expect(await links.count()).toBeLessThan(MOST_DRAWN);
  } finally {
    await calls.stop();
  }
  expect(await longest()).toBeLessThan(LONGEST_TASK);
});

/** Which call stands at a height of the window, and where exactly. */
async function lineAt(page: Page, height: number): Promise<{ href: string | null; top: number | undefined }> {
  return page.evaluate((y) => {
    const row = document.elementFromPoint(640, y)?.closest('[role="row"]');
    return { href: row?.querySelector('a')?.getAttribute('href') ?? null, top: row?.getBoundingClientRect().top };
  }, height);
}

/** So many bytes of script came over the line for a page that was never here before. */
async function scriptOf(browser: Browser, address: string, state?: Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>): Promise<number> {
  const context = await browser.newContext(state === undefined ? {} : { storageState: state });
  const page = await context.newPage();
  await page.goto(address);
  await settled(page);
  const bytes = await page.evaluate(() => performance.getEntriesByType('resource')
    .filter(({ name }) => new URL(name).pathname.endsWith('.js'))
    .reduce((sum, entry) => sum + (entry as PerformanceResourceTiming).encodedBodySize, 0));
  await context.close();
  return bytes;
}

test('the first page needs little script', async ({ browser, console: page, haft }) => {
  const state = await page.context().storageState();
  for (const bytes of [await scriptOf(browser, `${haft.url}/login`), await scriptOf(browser, haft.url, state)]) {
    expect(bytes).toBeGreaterThan(10 * 1024);
    expect(bytes).toBeLessThan(FIRST_LOAD);
  }
});
