// The virtualized list of tasks, which fetches more rows while the user scrolls down.
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef } from 'react';

import { useAgentName, usePersonName } from '@/api/names';
import { useNow } from '@/components/useNow';
import { useTop } from '@/components/useTop';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import css from './TaskList.module.css';
import { rowId, TaskRow } from './TaskRow';
import { isEnded, type Task } from './tasks';

const TEXTS = texts(
  { tasks: 'Tasks', time: 'Created', status: 'Status', tool: 'Tool', duration: 'Duration', who: 'By' },
  { tasks: '任务', time: '提交时间', status: '状态', tool: '工具', duration: '耗时', who: '调用者' },
);

const ROW_HEIGHT = 42;
/** Number of rows before the end at which the next page is fetched. */
const PREFETCH_ROWS = 30;
const TICK = 1000;

export interface TaskListProps {
  rows: readonly Task[];
  openId: string | undefined;
  currentId: string | undefined;
  /** Called when the user scrolls near the end. */
  onNearEnd: () => void;
  /** The row to scroll to and focus; a new object for each request. */
  goal: { id: string } | undefined;
}

export function TaskList({ rows, openId, currentId, onNearEnd, goal }: TaskListProps) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const agentName = useAgentName();
  const personName = usePersonName();
  const now = useNow(rows.every(isEnded) ? undefined : TICK);
  const container = useRef<HTMLDivElement>(null);
  const margin = useTop(container);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 12,
    scrollMargin: margin,
  });
  const items = virtual.getVirtualItems();

  const isNearEnd = (items.at(-1)?.index ?? 0) >= rows.length - PREFETCH_ROWS;
  useEffect(() => {
    if (isNearEnd) onNearEnd();
  }, [isNearEnd, rows, onNearEnd]);

  const latest = useRef({ rows, virtual });
  useEffect(() => {
    latest.current = { rows, virtual };
  });
  useEffect(() => {
    const index = goal === undefined ? -1 : latest.current.rows.findIndex((row) => row.id === goal.id);
    if (goal === undefined || index < 0) return;
    latest.current.virtual.scrollToIndex(index, { align: 'auto' });
    // After the row has been rendered.
    requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById(rowId(goal.id))?.focus({ preventScroll: true })));
  }, [goal]);

  const isKnown = currentId !== undefined && rows.some((row) => row.id === currentId);
  return (
    <div role="table" aria-label={t.tasks} aria-rowcount={-1} className={css.table}>
      <div role="rowgroup" className={css.head}>
        <div role="row" className={css.row}>
          <span role="columnheader">{t.time}</span>
          <span role="columnheader">{t.status}</span>
          <span role="columnheader">{t.tool}</span>
          <span role="columnheader" className={css.duration}>{t.duration}</span>
          <span role="columnheader">{t.who}</span>
        </div>
      </div>
      <div ref={container} role="rowgroup" className={css.body} style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const task = rows[item.index];
          if (task === undefined) return null;
          return (
            <div
              key={item.key} data-index={item.index} ref={virtual.measureElement} role="presentation" className={css.slot}
              style={{ transform: `translateY(${item.start - margin}px)` }}
            >
              <TaskRow
                task={task} format={format} agentName={agentName} personName={personName} now={isEnded(task) ? 0 : now}
                isOpen={task.id === openId} isCurrent={isKnown ? task.id === currentId : item.index === 0}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}
