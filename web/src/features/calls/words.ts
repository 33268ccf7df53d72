// Words that several parts of the log say.
import { useWords, words } from '@/i18n/language';

import type { Status } from './filters';

const STATUS = words<Record<Status, string>>(
  { success: 'Success', failed: 'Failed', cancelled: 'Cancelled' },
  { success: '成功', failed: '失败', cancelled: '已取消' },
);

export const useStatusWords = (): Record<Status, string> => useWords(STATUS);

const AGES = words<Record<string, string>>(
  {
    '15m': 'Last 15 minutes', '1h': 'Last hour', '6h': 'Last 6 hours', '24h': 'Last 24 hours', '7d': 'Last 7 days',
    '30d': 'Last 30 days', '90d': 'Last 90 days',
  },
  {
    '15m': '最近 15 分钟', '1h': '最近 1 小时', '6h': '最近 6 小时', '24h': '最近 24 小时', '7d': '最近 7 天', '30d': '最近 30 天', '90d': '最近 90 天',
  },
);

export const useAgeWords = (): Record<string, string> => useWords(AGES);
