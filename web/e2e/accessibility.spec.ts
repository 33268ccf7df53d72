// Everywhere, in what opens over a page too: no violation of WCAG level A or AA keeps anybody out,
// and nothing is done that the policy refuses or asked of anybody else.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';

import { EMPTY, everywhere } from './support/corners';
import { furnish } from './support/furnished';
import { expect, signIn, test } from './support/haft';
import { furnishSettings } from './support/household';
import { dress, LOOKS, named, sayIn } from './support/looks';
import { type Moment, visit } from './support/moments';
import { watch } from './support/watch';

test.use({ actionTimeout: 20_000 });

const LEVELS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** An experimental rule of axe that WCAG 2.5.3 asks for: who speaks a label they see must be understood. */
const MORE_RULES = {
  'label-content-name-mismatch': { enabled: true },
  // A list that is open over the page is part of no landmark, and need not be.
  region: { enabled: false },
};

/** What keeps somebody out, and where. */
async function barriers(page: Page, name: string): Promise<string[]> {
  // All is of one origin, so nothing has to be put together in a page of its own.
  const { violations } = await new AxeBuilder({ page }).options({ runOnly: { type: 'tag', values: LEVELS }, rules: MORE_RULES }).setLegacyMode().analyze();
  return violations.flatMap(({ id, help, nodes: all }) => {
    const nodes = all.filter(({ html, failureSummary }) => {
      // What is half under a bar that stays in place is scrolled out from under it.
      if (id === 'target-size') return failureSummary?.includes('partially obscured') !== true;
      // An option is called by its label; what is said about it comes after.
      return id !== 'label-content-name-mismatch' || !html.includes('role="option"');
    });
    if (nodes.length === 0) return [];
    const where = nodes.slice(0, 3).map((node) => `    ${node.html.slice(0, 160)}\n    ${node.failureSummary?.replaceAll('\n', ' ').slice(0, 240)}`);
    return [`${name}: ${id}: ${help}\n${where.join('\n')}`];
  });
}

for (const look of LOOKS) {
  test(`nothing keeps anybody out, and nothing foreign comes in: ${named(look)}`, async ({ page, haft, upstream }) => {
    test.setTimeout(600_000);
    const { found: refused, at } = await watch(page, haft.url);
    await signIn(page, haft);
    await dress(page, look);
    const found: string[] = [];
    const tour = async (moments: readonly Moment[]) => {
      for (const { name, path, come } of moments) {
        at(name);
        await test.step(name, async () => {
          await visit(page, haft.url + path);
          await come(page, sayIn(look));
          found.push(...await barriers(page, name));
        });
      }
    };
    await tour(EMPTY);
    const made = await furnish(haft, upstream, sayIn(look));
    await furnishSettings(haft);
    await tour(everywhere(made));
    expect(found.join('\n')).toBe('');
    expect(refused).toEqual([]);
  });
}
