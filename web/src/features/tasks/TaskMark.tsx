// How a task stands: a sign and a word, so that it needs no colour.
import { CircleCheck, CircleDashed, CirclePause, CirclePlay, CircleQuestionMark, CircleSlash, CircleX } from 'lucide-react';

import { useWords, words } from '@/i18n/language';

import css from './TaskMark.module.css';
import type { Status } from './tasks';

const WORDS = words<Record<Status, string>>(
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
  const t = useWords(WORDS);
  const Icon = ICONS[status];
  return <span className={`${css.mark} ${css[status]}`}><Icon size={15} aria-hidden />{t[status]}</span>;
}
