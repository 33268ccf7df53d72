// Accessibility of every page and overlay: no violation of WCAG level A or AA, no violation of the content
// security policy, and no request to another origin.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';

import { allStates, EMPTY } from './support/allStates';
import { expect, signIn, test } from './support/haft';
import { dress, LOOKS, named, sayIn } from './support/looks';
import { type PageState, visit } from './support/pageStates';
import { createSampleData } from './support/sampleData';
import { createSettingsData } from './support/settingsData';
import { watch } from './support/watch';

test.use({ actionTimeout: 20_000 });

const LEVELS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/**
 * Experimental axe rules, such as the one for WCAG 2.5.3: users of voice control say the label that they see.
 */
const MORE_RULES = {
  'label-content-name-mismatch': { enabled: true },
  // The list of an open popover belongs to no landmark, and need not.
  region: { enabled: false },
};

/** The violations on a page, one line each. */
async function barriers(page: Page, name: string): Promise<string[]> {
  // All frames have one origin, so no separate page is needed to combine the results.
  const { violations } = await new AxeBuilder({ page }).options({ runOnly: { type: 'tag', values: LEVELS }, rules: MORE_RULES }).setLegacyMode().analyze();
  return violations.flatMap(({ id, help, nodes: all }) => {
    const nodes = all.filter(({ html, failureSummary }) => {
      // An element partially covered by a sticky bar can be scrolled out from under it.
      if (id === 'target-size') return failureSummary?.includes('partially obscured') !== true;
      // The accessible name of an option is its label alone, without the description.
      return id !== 'label-content-name-mismatch' || !html.includes('role="option"');
    });
    if (nodes.length === 0) return [];
    const where = nodes.slice(0, 3).map((node) => `    ${node.html.slice(0, 160)}\n    ${node.failureSummary?.replaceAll('\n', ' ').slice(0, 240)}`);
    return [`${name}: ${id}: ${help}\n${where.join('\n')}`];
  });
}

for (const look of LOOKS) {
  test(`no page violates WCAG, the content policy or the origin: ${named(look)}`, async ({ page, haft, upstream }) => {
    test.setTimeout(600_000);
    const { found: refused, at } = await watch(page, haft.url);
    await signIn(page, haft);
    await dress(page, look);
    const found: string[] = [];
    const tour = async (states: readonly PageState[]) => {
      for (const { name, path, prepare } of states) {
        at(name);
        await test.step(name, async () => {
          await visit(page, haft.url + path);
          await prepare(page, sayIn(look));
          found.push(...await barriers(page, name));
        });
      }
    };
    await tour(EMPTY);
    const made = await createSampleData(haft, upstream, sayIn(look));
    await createSettingsData(haft);
    await tour(allStates(made));
    expect(found.join('\n')).toBe('');
    expect(refused).toEqual([]);
  });
}
