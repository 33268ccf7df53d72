// The status of a task as icon and text, so that it does not depend on color.
import { CircleCheck, CircleDashed, CirclePause, CirclePlay, CircleQuestionMark, CircleSlash, CircleX } from 'lucide-react';

import { texts, useTexts } from '@/i18n/language';

import css from './TaskMark.module.css';
import type { Status } from './tasks';

const TEXTS = texts<Record<Status, string>>(
  {
    queued: 'Queued', running: 'Running', waiting: 'Waiting', succeeded: 'Succeeded', failed: 'Failed', cancelled: 'Cancelled', unknown: 'Unknown',
  },
  { queued: '排队中', running: '运行中', waiting: '等待中', succeeded: '成功', failed: '失败', cancelled: '已取消', unknown: '结果未知' },
);

const ICONS: Record<Status, typeof CircleX> = {
  queued: CircleDashed, running: CirclePlay, waiting: CirclePause, succeeded: CircleCheck, failed: CircleX, cancelled: CircleSlash,
  unknown: CircleQuestionMark,
};

export function TaskMark({ status }: { status: Status }) {
  const t = useTexts(TEXTS);
  const Icon = ICONS[status];
  return <span className={`${css.mark} ${css[status]}`}><Icon size={15} aria-hidden />{t[status]}</span>;
}
