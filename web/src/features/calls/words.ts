// Words that several parts of the log say.
import { useWords, words } from '@/i18n/language';

import type { Status } from './filters';

const STATUS = words<Record<Status, string>>(
  { success: 'Success', failed: 'Failed', cancelled: 'Cancelled' },
  { success: '成功', failed: '失败', cancelled: '已取消' },
);

export const useStatusWords = (): Record<Status, string> => useWords(STATUS);
