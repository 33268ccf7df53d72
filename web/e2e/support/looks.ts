// Combinations of theme, language and width in which the console is tested.
import { expect, type Page } from '@playwright/test';

import { CHINESE, ENGLISH, type Say } from './pageStates';

export interface Look {
  theme: 'light' | 'dark';
  language: 'en' | 'zh';
  width: number;
}

const WIDE = 1280;
const NARROW = 390;

const ALL: readonly Look[] = (['light', 'dark'] as const).flatMap((theme) => (
  (['en', 'zh'] as const).flatMap((language) => [WIDE, NARROW].map((width) => ({ theme, language, width })))
));

/** Each theme, language and width at least once; with `HAFT_LONG` all combinations. */
export const LOOKS: readonly Look[] = process.env['HAFT_LONG'] === undefined
  ? [{ theme: 'light', language: 'en', width: WIDE }, { theme: 'dark', language: 'zh', width: NARROW }]
  : ALL;

export const named = ({ theme, language, width }: Look): string => `${theme}, ${language}, ${width} px`;

export const sayIn = ({ language }: Look): Say => (language === 'en' ? ENGLISH : CHINESE);

/** Applies a look to a page that has loaded the console before. */
export async function dress(page: Page, { theme, language, width }: Look): Promise<void> {
  await page.setViewportSize({ width, height: width === WIDE ? 800 : 844 });
  await page.evaluate(([chosen, spoken]) => {
    localStorage.setItem('haft.theme', chosen);
    localStorage.setItem('haft.language', spoken);
  }, [theme, language] as const);
  await page.reload();
  await expect(page.locator('html')).toHaveAttribute('data-theme', theme);
  await expect(page.locator('html')).toHaveAttribute('lang', new RegExp(`^${language}`));
}
