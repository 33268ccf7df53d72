// Pictures of every page, and of its main moments, in both themes and languages, wide and narrow, to be looked at.
import { furnish } from './support/furnished';
import { expect, test } from './support/haft';
import { CHINESE, ENGLISH, moments, visit } from './support/moments';
import { pages } from './support/pages';

test.use({ actionTimeout: 15_000 });

/** Those whose name has this in it: `HAFT_PICTURES=talk`; all of them by `HAFT_PICTURES=1`. */
const wanted = process.env['HAFT_PICTURES'] ?? '1';
const isWanted = (name: string) => wanted === '1' || name.includes(wanted);

const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } } as const;

for (const theme of ['light', 'dark'] as const) {
  for (const language of ['en', 'zh'] as const) {
    test(`pictures, ${theme}, ${language}`, async ({ console: page, haft, upstream }) => {
      test.setTimeout(400_000);
      const say = language === 'en' ? ENGLISH : CHINESE;
      const made = await furnish(haft, upstream, say);
      // The calls are counted a moment later.
      await expect.poll(async () => (await haft.api<{ totals: { calls: number } }>('GET', '/api/stats')).totals.calls).toBeGreaterThan(20);
      await page.evaluate(
        ([chosen, spoken]) => {
          localStorage.setItem('haft.theme', chosen);
          localStorage.setItem('haft.language', spoken);
        },
        [theme, language] as const,
      );
      for (const [width, size] of Object.entries(SIZES)) {
        await page.setViewportSize(size);
        const take = async (name: string) => {
          // Charts, editors and what moves have come to rest.
          await page.waitForTimeout(600);
          await page.screenshot({ path: `test-results/pictures/${name}-${theme}-${language}-${width}.png` });
        };
        for (const [name, path] of pages(made).filter(([one]) => isWanted(one))) {
          await visit(page, haft.url + path);
          await take(name);
        }
        for (const { name, path, come } of moments(made).filter((one) => isWanted(one.name))) {
          await visit(page, haft.url + path);
          await come(page, say);
          await take(name);
        }
      }
    });
  }
}
