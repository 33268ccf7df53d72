// Pictures of every page in both themes and languages, wide and narrow, to be looked at.
import { furnish } from './support/furnished';
import { test } from './support/haft';
import { pages } from './support/pages';

const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } } as const;

for (const theme of ['light', 'dark'] as const) {
  for (const language of ['en', 'zh'] as const) {
    test(`pictures, ${theme}, ${language}`, async ({ console: page, haft, upstream }) => {
      test.setTimeout(400_000);
      const made = await furnish(haft, upstream);
      await page.evaluate(
        ([chosen, spoken]) => {
          localStorage.setItem('haft.theme', chosen);
          localStorage.setItem('haft.language', spoken);
        },
        [theme, language] as const,
      );
      for (const [width, size] of Object.entries(SIZES)) {
        await page.setViewportSize(size);
        for (const [name, path] of pages(made)) {
          await page.goto(haft.url + path);
          await page.waitForTimeout(700);
          await page.screenshot({ path: `test-results/pictures/${name}-${theme}-${language}-${width}.png` });
        }
      }
    });
  }
}
