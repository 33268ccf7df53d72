// How the tasks of the space stand now, in one line; each number leads to those behind it.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleHelp, LoaderCircle, MailX, Timer, UserRoundCheck } from 'lucide-react';
import type { ReactNode } from 'react';

import { taskSummaryQuery } from '@/api/taskSummary';
import { useFormat } from '@/i18n/format';
import { useWords, words } from '@/i18n/language';

import css from './TasksNow.module.css';

const WORDS = words(
  { tasks: 'Tasks now', queued: 'queued', running: 'running', person: 'waiting for a person', dead: 'dead letters', unknown: 'of unknown outcome' },
  { tasks: '当前任务', queued: '排队中', running: '运行中', person: '等待审批', dead: '死信', unknown: '结果未知' },
);

type View = 'waiting' | 'running' | 'dead' | 'unknown';
type Tone = 'warn' | 'bad';

export function TasksNow() {
  const t = useWords(WORDS);
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
  /** Of the page of tasks; what waits for a person is on a page of its own. */
  view?: View;
  /** Of what wants somebody to look. */
  tone?: Tone;
}

function Count({ icon, count, label, view, tone }: CountProps) {
  const format = useFormat();
  const look = `${css.count} ${count > 0 && tone !== undefined ? css[tone] : ''}`;
  const shown = <>{icon}<strong>{format.count(count)}</strong> <span>{label}</span></>;
  return (
    <li>
      {view === undefined
        ? <Link to="/approvals" className={look}>{shown}</Link>
        : <Link to="/tasks" search={{ view, tool: undefined, task: undefined }} className={look}>{shown}</Link>}
    </li>
  );
}
