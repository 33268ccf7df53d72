// Names of the time windows of statistics.
import type { Schemas } from '@/api/client';

import { texts, useTexts } from './language';

export type Window = Schemas['Stats']['window'];

const LONG = texts<Record<Window, string>>(
  {
    '15m': 'Last 15 minutes', '1h': 'Last hour', '6h': 'Last 6 hours', '24h': 'Last 24 hours', '7d': 'Last 7 days', '30d': 'Last 30 days', '90d': 'Last 90 days',
  },
  { '15m': '最近 15 分钟', '1h': '最近 1 小时', '6h': '最近 6 小时', '24h': '最近 24 小时', '7d': '最近 7 天', '30d': '最近 30 天', '90d': '最近 90 天' },
);

export const useLongWindows = (): Record<Window, string> => useTexts(LONG);
