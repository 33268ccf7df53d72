// The grid: only the rows near the window are in the document, and more are fetched before one gets there.
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { LoaderCircle } from 'lucide-react';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';

import type { Schemas } from '@/api/client';
import { CATEGORIES, wordFor } from '@/i18n/categories';
import { useFormat } from '@/i18n/format';
import { useWords, words } from '@/i18n/language';

import { gridRows } from './rows';
import { ToolCard } from './ToolCard';
import css from './ToolGrid.module.css';

const WORDS = words({ more: 'Loading more…', list: 'Tools' }, { more: '正在加载更多…', list: '工具' });

const CARD_WIDTH = 290;
const GAP = 16;
const CARD_ROW = 140 + GAP;
const HEADING = 48;
const AHEAD = 3;
/** So many rows before the end more are fetched. */
const EARLY = 12;

export interface ToolGridProps {
  tools: readonly Schemas['Tool'][];
  counts: ReadonlyMap<string, number>;
  hasHeadings: boolean;
  hasMore: boolean;
  isFetching: boolean;
  more: () => void;
}

export function ToolGrid({ tools, counts, hasHeadings, hasMore, isFetching, more }: ToolGridProps) {
  const t = useWords(WORDS);
  const categories = useWords(CATEGORIES);
  const format = useFormat();
  const place = useRef<HTMLDivElement>(null);
  const { width, top } = usePlace(place);
  const columns = Math.max(1, Math.floor((width + GAP) / (CARD_WIDTH + GAP)));
  const rows = useMemo(() => gridRows(tools, columns, hasHeadings ? counts : undefined), [tools, columns, hasHeadings, counts]);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: (index) => (rows[index]?.kind === 'band' ? HEADING + CARD_ROW : CARD_ROW),
    overscan: AHEAD,
    scrollMargin: top,
  });
  useEffect(() => virtual.measure(), [virtual, rows]);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  const isNearEnd = last >= rows.length - 1 - EARLY;
  useEffect(() => {
    if (isNearEnd && hasMore && !isFetching) more();
  }, [isNearEnd, hasMore, isFetching, more]);
  return (
    <section aria-label={t.list} aria-busy={isFetching} ref={place}>
      <div className={css.grid} style={{ height: virtual.getTotalSize() }}>
        {width > 0 && items.map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          const at = { transform: `translateY(${item.start - top}px)`, gridTemplateColumns: columnsOf(columns) };
          if (row.kind === 'cards') {
            return <div key={row.tools[0]?.id} className={css.row} style={at}><Cards tools={row.tools} hasCategory={!hasHeadings} /></div>;
          }
          return (
            <div key={`band ${row.blocks[0]?.category}`} className={css.row} style={at}>
              {row.blocks.map(({ category, span, tools: own }) => (
                <div key={category} className={css.block} style={{ gridColumn: `span ${span}`, gridTemplateColumns: columnsOf(span) }}>
                  <h2 className={css.heading}>
                    <span>{wordFor(categories, category)}</span> <span className={css.count}>{format.count(counts.get(category) ?? own.length)}</span>
                  </h2>
                  <Cards tools={own} hasCategory={false} />
                </div>
              ))}
            </div>
          );
        })}
      </div>
      {hasMore && <div className={css.more} role="status"><LoaderCircle size={16} className={css.spin} aria-hidden /> {t.more}</div>}
    </section>
  );
}

function Cards({ tools, hasCategory }: { tools: readonly Schemas['Tool'][]; hasCategory: boolean }) {
  return tools.map((tool) => <ToolCard key={tool.id} tool={tool} hasCategory={hasCategory} />);
}

const columnsOf = (count: number) => `repeat(${count}, minmax(0, 1fr))`;

/** How wide an element is and where it begins on the page. */
function usePlace(element: React.RefObject<HTMLElement | null>): { width: number; top: number } {
  const [now, setNow] = useState({ width: 0, top: 0 });
  useLayoutEffect(() => {
    const observed = element.current;
    if (observed === null) return undefined;
    const measure = () => {
      const box = observed.getBoundingClientRect();
      const next = { width: Math.round(box.width), top: Math.round(box.top + window.scrollY) };
      setNow((before) => (before.width === next.width && before.top === next.top ? before : next));
    };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(observed);
    watch.observe(document.body);
    return () => watch.disconnect();
  }, [element]);
  return now;
}
