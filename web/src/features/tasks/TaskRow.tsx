// One task in the list: a table row on wide screens, a card on a phone.
import { Link } from '@tanstack/react-router';
import { Bot, Skull, UserRound } from 'lucide-react';
import { memo } from 'react';

import { type NameOf, short } from '@/api/names';
import { Progress } from '@/components/Progress';
import { useTaskStatusText } from '@/components/taskStatusText';
import type { Format } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import css from './TaskList.module.css';
import { TaskMark } from './TaskMark';
import { durationOf, isEnded, progressOf, type Task } from './tasks';

const TEXTS = texts({ dead: 'Dead letter' }, { dead: '死信' });

export interface TaskRowProps {
  task: Task;
  format: Format;
  agentName: NameOf;
  personName: NameOf;
  /** The present time, for running durations; ended tasks do not depend on it. */
  now: number;
  isOpen: boolean;
  /** True for the row that the Tab key focuses (roving tabindex). */
  isCurrent: boolean;
}

export const rowId = (id: string) => `task-${id}`;

export const TaskRow = memo(function TaskRow({ task, format, agentName, personName, now, isOpen, isCurrent }: TaskRowProps) {
  const t = useTexts(TEXTS);
  const statusText = useTaskStatusText()(task, format, now);
  const { fraction } = progressOf(task);
  const duration = durationOf(task, now);
  const who = task.agentId === null
    ? { icon: <UserRound size={14} aria-hidden />, name: personName(task.userId) ?? (task.userId === null ? '—' : short(task.userId)) }
    : { icon: <Bot size={14} aria-hidden />, name: agentName(task.agentId) ?? short(task.agentId) };
  return (
    <div role="row" className={`${css.row} ${isOpen ? css.open : ''}`}>
      <span role="cell" className={css.time}>{format.time(task.createdAt)}</span>
      <span role="cell" className={css.status}><TaskMark status={task.status} /></span>
      <span role="cell" className={css.what}>
        <Link
          id={rowId(task.id)} from="/tasks" to="/tasks" search={(old) => ({ ...old, task: task.id })} resetScroll={false} preload={false}
          tabIndex={isCurrent ? 0 : -1} className={css.tool ?? ''}
        >
          {task.toolName}
        </Link>
        {task.deadLetter && <span className={css.dead}><Skull size={12} aria-hidden />{t.dead}</span>}
        {statusText !== undefined && <span className={`${css.statusText} ${task.status === 'failed' ? css.wrong : ''}`} title={statusText}>{statusText}</span>}
        {fraction !== undefined && !isEnded(task) && <span className={css.progress}><Progress fraction={fraction} /></span>}
      </span>
      <span role="cell" className={css.duration}>{duration === undefined ? '—' : format.duration(duration)}</span>
      <span role="cell" className={css.who} title={who.name}>{who.icon}<span>{who.name}</span></span>
    </div>
  );
});
