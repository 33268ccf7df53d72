// Screenshots of every page and its main states, in both themes and languages, wide and narrow, for review by
// eye.
import { expect, test } from './support/haft';
import { pages } from './support/pages';
import { CHINESE, commonStates, ENGLISH, visit } from './support/pageStates';
import { createSampleData } from './support/sampleData';

test.use({ actionTimeout: 15_000 });

/** Selects screenshots by a part of their name: `HAFT_PICTURES=talk`; `HAFT_PICTURES=1` makes all. */
const selection = process.env['HAFT_PICTURES'] ?? '1';
const isSelected = (name: string) => selection === '1' || name.includes(selection);

const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } } as const;

for (const theme of ['light', 'dark'] as const) {
  for (const language of ['en', 'zh'] as const) {
    test(`screenshots, ${theme}, ${language}`, async ({ console: page, haft, upstream }) => {
      test.setTimeout(400_000);
      const say = language === 'en' ? ENGLISH : CHINESE;
      const made = await createSampleData(haft, upstream, say);
      // Calls are counted with a short delay.
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
          // Charts, editors and animations have finished.
          await page.waitForTimeout(600);
          await page.screenshot({ path: `test-results/pictures/${name}-${theme}-${language}-${width}.png` });
        };
        for (const [name, path] of pages(made).filter(([one]) => isSelected(one))) {
          await visit(page, haft.url + path);
          await take(name);
        }
        for (const { name, path, prepare } of commonStates(made).filter((one) => isSelected(one.name))) {
          await visit(page, haft.url + path);
          await prepare(page, say);
          await take(name);
        }
      }
    });
  }
}
