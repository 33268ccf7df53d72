// How far back the overview looks.
import type { Schemas } from '@/api/client';
import { useWords, words } from '@/i18n/language';

export type Window = Schemas['Stats']['window'];

export const WINDOWS: readonly Window[] = ['15m', '1h', '6h', '24h', '7d', '30d', '90d'];

export function windowOf(text: string | undefined): Window {
  return WINDOWS.find((one) => one === text) ?? '24h';
}

const SHORT = words<Record<Window, string>>(
  { '15m': '15m', '1h': '1h', '6h': '6h', '24h': '24h', '7d': '7d', '30d': '30d', '90d': '90d' },
  { '15m': '15 分', '1h': '1 小时', '6h': '6 小时', '24h': '24 小时', '7d': '7 天', '30d': '30 天', '90d': '90 天' },
);

const LONG = words<Record<Window, string>>(
  {
    '15m': 'Last 15 minutes', '1h': 'Last hour', '6h': 'Last 6 hours', '24h': 'Last 24 hours', '7d': 'Last 7 days', '30d': 'Last 30 days', '90d': 'Last 90 days',
  },
  { '15m': '最近 15 分钟', '1h': '最近 1 小时', '6h': '最近 6 小时', '24h': '最近 24 小时', '7d': '最近 7 天', '30d': '最近 30 天', '90d': '最近 90 天' },
);

export const useShortWindows = (): Record<Window, string> => useWords(SHORT);
export const useLongWindows = (): Record<Window, string> => useWords(LONG);

/** Nothing chosen but what is said: the rows behind a number. */
export const ALL_CALLS = {
  tool: undefined, agent: undefined, status: undefined, kind: undefined, source: undefined, from: undefined, to: undefined, q: undefined, call: undefined,
};
