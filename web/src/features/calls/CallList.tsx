// The virtualized list of calls, which fetches more rows while the user scrolls down.
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type MouseEvent, type RefObject, useEffect, useMemo, useRef } from 'react';

import { useAgentName, usePersonName } from '@/api/names';
import { useTop } from '@/components/useTop';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import css from './CallList.module.css';
import { CallRow, pressedCall, rowId } from './CallRow';
import type { Row } from './filters';

const TEXTS = texts(
  { calls: 'Calls', time: 'Time', status: 'Status', tool: 'Tool', duration: 'Duration', who: 'By', source: 'Source' },
  { calls: '调用', time: '时间', status: '状态', tool: '工具', duration: '耗时', who: '调用者', source: '来源' },
);

const ROW_HEIGHT = 42;
/** Number of rows before the end at which the next page is fetched. */
const PREFETCH_ROWS = 30;

export interface CallListProps {
  rows: readonly Row[];
  /** The address of the list; the call's id is appended. */
  base: string;
  onOpen: (id: string) => void;
  openId: string | undefined;
  currentId: string | undefined;
  /** The element of the rows, from which the scroll position is derived. */
  container: RefObject<HTMLDivElement | null>;
  /** Called when the user scrolls near the end. */
  onNearEnd: () => void;
  /** The row to scroll to and focus; a new object for each request. */
  goal: { id: string } | undefined;
}

export function CallList({ rows, base, onOpen, openId, currentId, container, onNearEnd, goal }: CallListProps) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const agentName = useAgentName();
  const personName = usePersonName();
  const margin = useTop(container);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 12,
    scrollMargin: margin,
  });
  const items = virtual.getVirtualItems();
  const longest = useMemo(() => roundUp(rows), [rows]);

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

  // One listener for all rows instead of one per row.
  const open = (event: MouseEvent) => {
    const id = pressedCall(event);
    if (id === undefined) return;
    event.preventDefault();
    onOpen(id);
  };
  const isKnown = currentId !== undefined && rows.some((row) => row.id === currentId);
  return (
    <div role="table" aria-label={t.calls} aria-rowcount={-1} tabIndex={-1} className={css.table}>
      <div role="rowgroup" className={css.head}>
        <div role="row" className={css.row}>
          <span role="columnheader" className={css.time}>{t.time}</span>
          <span role="columnheader" className={css.status}>{t.status}</span>
          <span role="columnheader">{t.tool}</span>
          <span role="columnheader" className={css.duration}>{t.duration}</span>
          <span role="columnheader">{t.who}</span>
          <span role="columnheader">{t.source}</span>
        </div>
      </div>
      <div ref={container} role="rowgroup" className={css.body} onClick={open} style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          return (
            <div
              key={item.key} data-index={item.index} ref={virtual.measureElement} role="presentation" className={css.slot}
              style={{ transform: `translateY(${item.start - margin}px)` }}
            >
              <CallRow
                row={row} base={base} longest={longest} format={format} agentName={agentName} personName={personName} isOpen={row.id === openId}
                isCurrent={isKnown ? row.id === currentId : item.index === 0}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

/**
 * The longest duration, rounded up to a power of two, so that it seldom changes and rows are seldom rendered
 * again.
 */
function roundUp(rows: readonly Row[]): number {
  const longest = rows.reduce((most, row) => Math.max(most, row.duration), 1);
  return 2 ** Math.ceil(Math.log2(longest));
}
