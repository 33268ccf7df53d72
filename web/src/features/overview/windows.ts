// The time windows of the overview.
import { texts, useTexts } from '@/i18n/language';
import type { Window } from '@/i18n/windows';

export const WINDOWS: readonly Window[] = ['15m', '1h', '6h', '24h', '7d', '30d', '90d'];

export function windowOf(text: string | undefined): Window {
  return WINDOWS.find((one) => one === text) ?? '24h';
}

const SHORT = texts<Record<Window, string>>(
  { '15m': '15m', '1h': '1h', '6h': '6h', '24h': '24h', '7d': '7d', '30d': '30d', '90d': '90d' },
  { '15m': '15 分', '1h': '1 小时', '6h': '6 小时', '24h': '24 小时', '7d': '7 天', '30d': '30 天', '90d': '90 天' },
);

export const useShortWindows = (): Record<Window, string> => useTexts(SHORT);

/** Search parameters of the call log without filters, to be combined with those of a number. */
export const ALL_CALLS = {
  tool: undefined, agent: undefined, status: undefined, kind: undefined, source: undefined, from: undefined, to: undefined, q: undefined, call: undefined,
};
