// How far back the overview looks.
import { useWords, words } from '@/i18n/language';
import type { Window } from '@/i18n/windows';

export const WINDOWS: readonly Window[] = ['15m', '1h', '6h', '24h', '7d', '30d', '90d'];

export function windowOf(text: string | undefined): Window {
  return WINDOWS.find((one) => one === text) ?? '24h';
}

const SHORT = words<Record<Window, string>>(
  { '15m': '15m', '1h': '1h', '6h': '6h', '24h': '24h', '7d': '7d', '30d': '30d', '90d': '90d' },
  { '15m': '15 分', '1h': '1 小时', '6h': '6 小时', '24h': '24 小时', '7d': '7 天', '30d': '30 天', '90d': '90 天' },
);

export const useShortWindows = (): Record<Window, string> => useWords(SHORT);

/** Nothing chosen but what is said: the rows behind a number. */
export const ALL_CALLS = {
  tool: undefined, agent: undefined, status: undefined, kind: undefined, source: undefined, from: undefined, to: undefined, q: undefined, call: undefined,
};
