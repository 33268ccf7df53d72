// A JSON value as a tree: expandable, navigable by keyboard, and virtualized.
import { useVirtualizer } from '@tanstack/react-virtual';
import { ChevronRight } from 'lucide-react';
import { type KeyboardEvent, useId, useMemo, useRef, useState } from 'react';

import { texts, useTexts } from '@/i18n/language';

import { CopyButton } from './CopyButton';
import { firstOpen, moveTo, rowsOf, summaryOf, type TreeRow } from './JsonTree.rows';
import css from './JsonTree.module.css';

const TEXTS = texts(
  { copyValue: 'Copy value', copyPath: 'Copy path', list: (n: number) => (n === 1 ? '1 item' : `${n} items`), fields: (n: number) => (n === 1 ? '1 field' : `${n} fields`), whole: 'Whole value' },
  { copyValue: '复制值', copyPath: '复制路径', list: (n: number) => `${n} 项`, fields: (n: number) => `${n} 个字段`, whole: '全部' },
);

const ROW_HEIGHT = 26;
const MOST_HEIGHT = 460;
/** Maximum length of a value in its row. The selected value is shown whole below the tree. */
const MAX_LENGTH = 240;

export function JsonTree({ value, label }: { value: unknown; label: string }) {
  const t = useTexts(TEXTS);
  const id = useId();
  const [open, setOpen] = useState(() => firstOpen(value));
  const [active, setActive] = useState('');
  const rows = useMemo(() => rowsOf(value, open), [value, open]);
  const scroller = useRef<HTMLDivElement>(null);
  // eslint-disable-next-line react-hooks/incompatible-library -- its result does not leave this component
  const virtual = useVirtualizer({
    count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => ROW_HEIGHT, overscan: 12, initialRect: { width: 600, height: MOST_HEIGHT },
  });
  const found = rows.findIndex((row) => row.path === active);
  const at = found === -1 ? 0 : found;
  const chosen = rows[at];

  const toggle = (row: TreeRow, isOpen = !row.isOpen) => {
    const next = new Set(open);
    if (isOpen) next.add(row.path);
    else next.delete(row.path);
    setOpen(next);
  };
  const go = (to: number) => {
    const row = rows[to];
    if (row === undefined) return;
    setActive(row.path);
    virtual.scrollToIndex(to);
  };
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || chosen === undefined) return;
    const move = moveTo(event.key, rows, at);
    if (move === null) return;
    event.preventDefault();
    if ('to' in move) go(move.to);
    else toggle(chosen, move.open);
  };
  return (
    <div className={css.tree}>
      <div
        ref={scroller} role="tree" aria-label={label} tabIndex={0} className={css.scroller} onKeyDown={press}
        aria-activedescendant={chosen === undefined ? undefined : `${id}-${at}`}
      >
        <div role="presentation" className={css.all} style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index];
            return row !== undefined && (
              <Row
                key={row.path} id={`${id}-${item.index}`} row={row} top={item.start} isActive={item.index === at}
                onPress={() => {
                  setActive(row.path);
                  if (row.size !== undefined) toggle(row);
                }}
              />
            );
          })}
        </div>
      </div>
      {chosen !== undefined && (
        <div className={css.foot}>
          <code className={css.path}>{chosen.path === '' ? t.whole : chosen.path}</code>
          <span className={css.copies}>
            {chosen.path !== '' && <CopyButton look="quiet" text={chosen.path} label={t.copyPath} />}
            <CopyButton look="quiet" text={typeof chosen.value === 'string' ? chosen.value : JSON.stringify(chosen.value, null, 2)} label={t.copyValue} />
          </span>
          {typeof chosen.value === 'string' && chosen.value.length > 60 && <p className={css.full} tabIndex={0} role="region" aria-label={chosen.path}>{chosen.value}</p>}
        </div>
      )}
    </div>
  );
}

interface RowProps {
  id: string;
  row: TreeRow;
  top: number;
  isActive: boolean;
  onPress: () => void;
}

function Row({ id, row, top, isActive, onPress }: RowProps) {
  const t = useTexts(TEXTS);
  const isBranch = row.size !== undefined;
  return (
    // The tree has the focus, so it handles the keys of its rows.
    <div
      id={id} role="treeitem" aria-level={row.depth + 1} aria-setsize={row.siblings} aria-posinset={row.position} aria-selected={isActive}
      aria-expanded={isBranch ? row.isOpen : undefined} className={`${css.row} ${isActive ? css.active : ''}`} onClick={onPress}
      style={{ transform: `translateY(${top}px)`, height: ROW_HEIGHT, paddingLeft: 6 + row.depth * 16 }}
    >
      <span className={css.mark} aria-hidden>{isBranch && <ChevronRight size={13} className={row.isOpen ? css.turned : ''} />}</span>
      {row.name !== undefined && <span className={css.name}>{row.name}</span>}
      {isBranch ? (
        <span className={css.summary}>{Array.isArray(row.value) ? t.list(row.size ?? 0) : t.fields(row.size ?? 0)}</span>
      ) : (
        <span className={css[row.type]}>{summaryOf(row.value, MAX_LENGTH)}</span>
      )}
    </div>
  );
}
