// Nobody is kept out: no violation of WCAG level A or AA on any page, in either theme.
import AxeBuilder from '@axe-core/playwright';

import { furnish } from './support/furnished';
import { expect, test } from './support/haft';
import { pages } from './support/pages';

const LEVELS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

for (const theme of ['light', 'dark'] as const) {
  test(`no page keeps anybody out (${theme})`, async ({ console: page, haft, upstream }) => {
    test.setTimeout(240_000);
    const made = await furnish(haft, upstream);
    await page.evaluate((chosen) => localStorage.setItem('haft.theme', chosen), theme);
    const found: string[] = [];
    for (const [name, path] of [...pages(made), ['login', '/login'] as const]) {
      await page.goto(haft.url + path);
      await page.getByRole('status').filter({ hasText: 'Loading' }).waitFor({ state: 'hidden' });
      const { violations } = await new AxeBuilder({ page }).withTags(LEVELS).analyze();
      for (const violation of violations) {
        const where = violation.nodes.slice(0, 3).map((node) => node.html.slice(0, 160));
        found.push(`${name}: ${violation.id}: ${violation.help}\n    ${where.join('\n    ')}`);
      }
    }
    expect(found.join('\n')).toBe('');
  });
}
