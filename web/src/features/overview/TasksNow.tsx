// The number of tasks by status in one line; each number links to its tasks.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleHelp, LoaderCircle, MailX, Timer, UserRoundCheck } from 'lucide-react';
import type { ReactNode } from 'react';

import { taskSummaryQuery } from '@/api/taskSummary';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import css from './TasksNow.module.css';

const TEXTS = texts(
  { tasks: 'Tasks now', queued: 'queued', running: 'running', person: 'waiting for approval', dead: 'dead letters', unknown: 'with unknown result' },
  { tasks: '当前任务', queued: '排队中', running: '运行中', person: '等待审批', dead: '死信', unknown: '结果未知' },
);

type View = 'waiting' | 'running' | 'dead' | 'unknown';
type Tone = 'warn' | 'bad';

export function TasksNow() {
  const t = useTexts(TEXTS);
  const { data } = useQuery(taskSummaryQuery);
  if (data === undefined) return null;
  const { queued, running, asking, deadLetters, unknown } = data;
  return (
    <section aria-label={t.tasks} className={css.strip}>
      <h2 className={css.title}>{t.tasks}</h2>
      <ul className={css.counts}>
        <Count icon={<Timer aria-hidden />} count={queued} label={t.queued} view="waiting" />
        <Count icon={<LoaderCircle aria-hidden />} count={running} label={t.running} view="running" />
        <Count icon={<UserRoundCheck aria-hidden />} count={asking} label={t.person} tone="warn" />
        <Count icon={<MailX aria-hidden />} count={deadLetters} label={t.dead} view="dead" tone="bad" />
        {unknown > 0 && <Count icon={<CircleHelp aria-hidden />} count={unknown} label={t.unknown} view="unknown" tone="warn" />}
      </ul>
    </section>
  );
}

interface CountProps {
  icon: ReactNode;
  count: number;
  label: string;
  /** The view of the tasks page; waiting approvals have their own page. */
  view?: View;
  /** The color of a number that needs attention. */
  tone?: Tone;
}

function Count({ icon, count, label, view, tone }: CountProps) {
  const format = useFormat();
  const look = `${css.count} ${count > 0 && tone !== undefined ? css[tone] : ''}`;
  const content = <>{icon}<strong>{format.count(count)}</strong> <span>{label}</span></>;
  return (
    <li>
      {view === undefined
        ? <Link to="/approvals" className={look}>{content}</Link>
        : <Link to="/tasks" search={{ view, tool: undefined, task: undefined }} className={look}>{content}</Link>}
    </li>
  );
}
