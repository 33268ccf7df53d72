// The virtualized grid of tools: only rows near the viewport are rendered, and more are fetched ahead of scrolling.
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { LoaderCircle } from 'lucide-react';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';

import type { Schemas } from '@/api/client';
import { CATEGORIES, categoryName } from '@/i18n/categories';
import { useFormat } from '@/i18n/format';
import { useTexts, texts } from '@/i18n/language';

import { gridRows } from './rows';
import { ToolCard } from './ToolCard';
import css from './ToolGrid.module.css';

const TEXTS = texts({ more: 'Loading more…', list: 'Tools' }, { more: '正在加载更多…', list: '工具' });

const CARD_WIDTH = 290;
const GAP = 16;
const CARD_ROW = 140 + GAP;
const HEADING = 48;
const OVERSCAN = 3;
/** Fetches more tools when this number of rows is left. */
const PREFETCH_ROWS = 12;

export interface ToolGridProps {
  tools: readonly Schemas['Tool'][];
  counts: ReadonlyMap<string, number>;
  hasHeadings: boolean;
  hasMore: boolean;
  isFetching: boolean;
  more: () => void;
}

export function ToolGrid({ tools, counts, hasHeadings, hasMore, isFetching, more }: ToolGridProps) {
  const t = useTexts(TEXTS);
  const categories = useTexts(CATEGORIES);
  const format = useFormat();
  const container = useRef<HTMLDivElement>(null);
  const { width, top } = useElementPosition(container);
  const columns = Math.max(1, Math.floor((width + GAP) / (CARD_WIDTH + GAP)));
  const rows = useMemo(() => gridRows(tools, columns, hasHeadings ? counts : undefined), [tools, columns, hasHeadings, counts]);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: (index) => (rows[index]?.kind === 'band' ? HEADING + CARD_ROW : CARD_ROW),
    overscan: OVERSCAN,
    scrollMargin: top,
  });
  useEffect(() => virtual.measure(), [virtual, rows]);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  const isNearEnd = last >= rows.length - 1 - PREFETCH_ROWS;
  useEffect(() => {
    if (isNearEnd && hasMore && !isFetching) more();
  }, [isNearEnd, hasMore, isFetching, more]);
  return (
    <section aria-label={t.list} aria-busy={isFetching} ref={container}>
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
                    <span>{categoryName(categories, category)}</span> <span className={css.count}>{format.count(counts.get(category) ?? own.length)}</span>
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

/** Measures the width of an element and its top position on the page. */
function useElementPosition(element: React.RefObject<HTMLElement | null>): { width: number; top: number } {
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
