// Texts shared by several parts of the call log.
import { texts, useTexts } from '@/i18n/language';

import type { Status } from './filters';

const STATUS = texts<Record<Status, string>>(
  { success: 'Success', failed: 'Failed', cancelled: 'Cancelled' },
  { success: '成功', failed: '失败', cancelled: '已取消' },
);

export const useStatusTexts = (): Record<Status, string> => useTexts(STATUS);
