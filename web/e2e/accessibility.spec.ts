// Nobody is kept out: no violation of WCAG level A or AA on any page, nor in what opens over it.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';

import { dialogs } from './support/dialogs';
import { furnish } from './support/furnished';
import { expect, test } from './support/haft';
import { CHINESE, ENGLISH, moments, visit } from './support/moments';
import { pages } from './support/pages';

test.use({ actionTimeout: 15_000 });

const LEVELS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 390, height: 844 };

/** What keeps somebody out, and where. */
async function barriers(page: Page, name: string): Promise<string[]> {
  // All is of one origin, so nothing has to be put together in a page of its own.
  const { violations } = await new AxeBuilder({ page }).withTags(LEVELS).setLegacyMode().analyze();
  return violations.flatMap(({ id, help, nodes: all }) => {
    // What is half under a bar that stays in place is scrolled out from under it.
    const nodes = all.filter(({ failureSummary }) => id !== 'target-size' || failureSummary?.includes('partially obscured') !== true);
    if (nodes.length === 0) return [];
    const where = nodes.slice(0, 3).map((node) => `    ${node.html.slice(0, 160)}\n    ${node.failureSummary?.replaceAll('\n', ' ').slice(0, 240)}`);
    return [`${name}: ${id}: ${help}\n${where.join('\n')}`];
  });
}

async function look(page: Page, theme: string, language: string): Promise<void> {
  await page.evaluate(([chosen, spoken]) => {
    localStorage.setItem('haft.theme', chosen);
    localStorage.setItem('haft.language', spoken);
  }, [theme, language] as const);
}

for (const [theme, language, size] of [
  ['light', 'en', WIDE], ['dark', 'zh', WIDE], ['light', 'zh', NARROW], ['dark', 'en', NARROW],
] as const) {
  test(`no page keeps anybody out: ${theme}, ${language}, ${size.width} px`, async ({ console: page, haft, upstream }) => {
    test.setTimeout(300_000);
    const made = await furnish(haft, upstream);
    await look(page, theme, language);
    await page.setViewportSize(size);
    const found: string[] = [];
    for (const [name, path] of [...pages(made), ['login', '/login'] as const]) {
      await visit(page, haft.url + path);
      found.push(...await barriers(page, name));
    }
    expect(found.join('\n')).toBe('');
  });

  test(`nothing in use keeps anybody out: ${theme}, ${language}, ${size.width} px`, async ({ console: page, haft, upstream }) => {
    test.setTimeout(300_000);
    const made = await furnish(haft, upstream);
    await look(page, theme, language);
    await page.setViewportSize(size);
    const found: string[] = [];
    for (const { name, path, come } of moments(made)) {
      await visit(page, haft.url + path);
      await come(page, language === 'en' ? ENGLISH : CHINESE);
      found.push(...await barriers(page, name));
    }
    expect(found.join('\n')).toBe('');
  });
}

for (const [theme, size] of [['light', WIDE], ['dark', NARROW]] as const) {
  test(`nothing that opens keeps anybody out: ${theme}, ${size.width} px`, async ({ console: page, haft, upstream }) => {
    test.setTimeout(300_000);
    const made = await furnish(haft, upstream);
    await look(page, theme, 'en');
    await page.setViewportSize(size);
    const found: string[] = [];
    for (const { name, path, come } of dialogs(made)) {
      await visit(page, haft.url + path);
      await come(page, ENGLISH);
      found.push(...await barriers(page, name));
    }
    expect(found.join('\n')).toBe('');
  });
}
