// The virtualized list of operations to select: only visible rows are rendered.
import { useVirtualizer } from '@tanstack/react-virtual';
import { useCallback, useRef, useState } from 'react';

import { useTexts } from '@/i18n/language';

import { withKeys } from './keys';
import css from './PickList.module.css';
import { PickRow } from './PickRow';
import type { ImportItem } from './run';
import { TEXTS } from './texts';

interface Props {
  items: readonly ImportItem[];
  picked: ReadonlySet<string>;
  onPick: (key: string, isPicked: boolean) => void;
}

/** Estimated height of a row with a description, in pixels. */
const ROW = 61;

export function PickList({ items, picked, onPick }: Props) {
  const t = useTexts(TEXTS);
  const container = useRef<HTMLDivElement>(null);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const toggle = useCallback((key: string) => setOpened((before) => withKeys(before, [key], !before.has(key))), []);
  // eslint-disable-next-line react-hooks/incompatible-library -- its rows are drawn here and nowhere remembered
  const rows = useVirtualizer({ count: items.length, getScrollElement: () => container.current, estimateSize: () => ROW, overscan: 8 });
  if (items.length === 0) return <p className={css.nothing}>{t.nothingFits}</p>;
  return (
    <div ref={container} className={css.scroll}>
      <ul className={css.rows} style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, start, key }) => {
          const found = items[index];
          if (found === undefined) return null;
          return (
            <li
              key={key} ref={rows.measureElement} data-index={index} aria-setsize={items.length} aria-posinset={index + 1}
              className={css.item} style={{ transform: `translateY(${start}px)` }}
            >
              <PickRow found={found} isPicked={picked.has(found.key)} isOpen={opened.has(found.key)} onPick={onPick} onOpen={toggle} />
            </li>
          );
        })}
      </ul>
    </div>
  );
}
