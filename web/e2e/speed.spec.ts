// Performance with much data: ten thousand tools, a hundred calls per second, and the size of the first load.
import type { Browser, BrowserContext, Locator, Page } from '@playwright/test';

import { expect, type Haft, test } from './support/haft';
import { settled, visit } from './support/pageStates';

test.use({ actionTimeout: 15_000 });

/** Maximum number of rendered rows of any list; without virtualization it would be thousands. */
const MAX_ROWS = 150;
const FIRST_LOAD = 300 * 1024;

const TOOLS = 10_000;
const AT_ONCE = 500;
const GROUPS = 40;

async function makeTools(haft: Haft): Promise<void> {
  for (let from = 0; from < TOOLS; from += AT_ONCE) {
    const tools = Array.from({ length: AT_ONCE }, (_, index) => {
      const at = String(from + index).padStart(5, '0');
      return {
        name: `lookup_${at}`, description: `Looks up item ${at} in the warehouse.`, type: 'mock',
        category: `team_${String((from + index) % GROUPS).padStart(2, '0')}`, config: { answers: [{ data: { at } }] },
      };
    });
    await haft.api('POST', '/api/tools/import', { tools });
  }
}

/** Calls a tool at about this rate until stopped. */
function callOften(haft: Haft, perSecond: number): { made: () => number; stop: () => Promise<void> } {
  const going = new Set<Promise<unknown>>();
  let made = 0;
  const timer = setInterval(() => {
    for (let count = perSecond / 20; count > 0 && going.size < perSecond; count -= 1) {
      const call = calculate(haft, made).finally(() => going.delete(call));
      going.add(call);
      made += 1;
    }
  }, 50);
  return {
    made: () => made,
    stop: async () => {
      clearInterval(timer);
      await Promise.all(going);
    },
  };
}

const calculate = (haft: Haft, number: number) => haft.api('POST', '/api/tools/calculator/execute', { arguments: { expression: `${number} + 1` } });

test('only the visible ones of ten thousand tools are rendered, and search finds any', async ({ console: page, haft }) => {
  test.setTimeout(240_000);
  await makeTools(haft);
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await visit(page, `${haft.url}/tools`);
  const list = page.getByRole('region', { name: 'Tools', exact: true });
  const cards = list.getByRole('link');
  await expect(list.getByRole('link', { name: /lookup_00000/ })).toBeVisible();
  await expect(page.getByRole('navigation', { name: 'Categories' }).getByRole('link', { name: /team_39/i })).toContainText('250');
  expect(asked.filter((path) => path === '/api/tools').length, 'the list is shown before all tools are fetched').toBeLessThan(6);

  await page.mouse.move(700, 500);
  let drawn = 0;
  await expect(async () => {
    await page.mouse.wheel(0, 1200);
    drawn = Math.max(drawn, await cards.count());
    await expect(list.getByRole('heading', { name: /team_02/i })).toBeVisible({ timeout: 100 });
  }, 'several teams further down').toPass({ timeout: 120_000, intervals: [0] });
  expect(drawn).toBeLessThan(MAX_ROWS);

  const search = page.getByRole('searchbox', { name: 'Search tools' });
  await search.fill('item 07777');
  await expect(cards).toHaveCount(1);
  await expect(cards).toContainText('lookup_07777');
  await search.fill('');
  await page.getByRole('navigation', { name: 'Categories' }).getByRole('link', { name: /team_39/i }).click();
  await expect(list.getByRole('link', { name: /lookup_00039/ })).toBeVisible();
  expect(await cards.count()).toBeLessThan(MAX_ROWS);
});

test('a log with a hundred calls per second is live, holds still while scrolled, and stays responsive', async ({ console: page, haft }) => {
  test.setTimeout(240_000);
  // More calls than fit into the window, so that the list can be scrolled.
  for (let count = 0; count < 6; count += 1) await Promise.all(Array.from({ length: 20 }, (_, index) => calculate(haft, index)));
  await visit(page, `${haft.url}/calls`);
  const links = page.getByRole('table', { name: 'Calls' }).getByRole('link');
  const newest = () => links.first().getAttribute('href');
  await expect(links.first()).toBeVisible();
  let asked = 0;
  page.on('request', (request) => { asked += new URL(request.url()).pathname.startsWith('/api/tool-calls') ? 1 : 0; });
  const calls = callOften(haft, 100);
  try {
    const before = await newest();
    await expect.poll(newest).not.toBe(before);
    const then = await newest();
    await expect.poll(newest, { message: 'new calls appear' }).not.toBe(then);
    await expect.poll(calls.made, { timeout: 60_000 }).toBeGreaterThan(400);
    expect(asked, 'many calls are fetched at once').toBeLessThan(calls.made() / 5);
    expect(await links.count()).toBeLessThan(MAX_ROWS);

    // Scrolled down, new calls are counted and the visible rows do not move.
    await page.mouse.move(700, 500);
    await page.mouse.wheel(0, 1600);
    await expect.poll(() => page.evaluate(() => window.scrollY)).toBe(1600);
    const fresh = page.getByRole('button', { name: /new calls/ });
    await expect(fresh).toBeAttached();
    const place = await lineAt(page, 400);
    expect(place.href).not.toBeNull();
    const said = await fresh.textContent();
    await expect(fresh).not.toHaveText(said ?? '');
    expect(await lineAt(page, 400)).toEqual(place);
    expect(await links.count()).toBeLessThan(MAX_ROWS);

    // Presses and typing are handled during the load.
    await fresh.click();
    await expect.poll(() => page.evaluate(() => window.scrollY)).toBe(0);
    const at = await newest();
    await expect.poll(newest).not.toBe(at);
    await page.getByRole('searchbox').pressSequentially('no such tool');
    await expect(page.getByRole('heading', { name: 'No call matches' })).toBeVisible();
    await expect(page.getByRole('searchbox')).toHaveValue('no such tool');
    await page.getByRole('button', { name: 'Clear all filters' }).click();
    await links.first().click();
    await expect(page.getByRole('dialog', { name: 'calculator' }).getByRole('tree', { name: 'Arguments' })).toContainText('+ 1');
    await page.keyboard.press('Escape');
    for (const name of ['Tools', 'Overview', 'Calls']) {
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
      await expect(page.getByRole('heading', { name, level: 1 })).toBeVisible();
    }
  } finally {
    await calls.stop();
  }
  // No call was lost: finally the newest one in the log is shown, which is written with a short delay.
  await expect(async () => {
    const [last] = (await haft.api<{ items: { id: string }[] }>('GET', '/api/tool-calls?limit=1')).items;
    expect(await newest()).toContain(last?.id ?? 'none');
  }).toPass({ timeout: 20_000 });
});

/** The call at a height of the window, with its exact position. */
async function lineAt(page: Page, height: number): Promise<{ href: string | null; top: number | undefined }> {
  return page.evaluate((y) => {
    const row = document.elementFromPoint(640, y)?.closest('[role="row"]');
    return { href: row?.querySelector('a')?.getAttribute('href') ?? null, top: row?.getBoundingClientRect().top };
  }, height);
}

/** The number of bytes of script that a page loads without cache until `seen` is visible. */
async function scriptOf(browser: Browser, address: string, seen: (page: Page) => Locator, state?: Awaited<ReturnType<BrowserContext['storageState']>>): Promise<number> {
  const context = await browser.newContext(state === undefined ? {} : { storageState: state });
  const page = await context.newPage();
  await page.goto(address);
  await settled(page);
  await expect(seen(page)).toBeVisible();
  const bytes = await page.evaluate(() => performance.getEntriesByType('resource')
    .filter(({ name }) => new URL(name).pathname.endsWith('.js'))
    .reduce((sum, entry) => sum + (entry as PerformanceResourceTiming).encodedBodySize, 0));
  await context.close();
  return bytes;
}

test('the first page loads little script', async ({ browser, console: page, haft }) => {
  await calculate(haft, 1);
  const state = await page.context().storageState();
  const login = await scriptOf(browser, `${haft.url}/login`, (its) => its.getByRole('button', { name: 'Sign in' }));
  // Charts are loaded later, and count as well.
  const overview = await scriptOf(browser, haft.url, (its) => its.getByRole('figure').first().locator('canvas'), state);
  for (const bytes of [login, overview]) {
    expect(bytes).toBeGreaterThan(10 * 1024);
    expect(bytes).toBeLessThan(FIRST_LOAD);
  }
});
