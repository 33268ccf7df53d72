// Operations to pick from; only those in sight are drawn, so thousands are no more work than ten.
import { useVirtualizer } from '@tanstack/react-virtual';
import { useCallback, useRef, useState } from 'react';

import { useWords } from '@/i18n/language';

import { withKeys } from './keys';
import css from './PickList.module.css';
import { PickRow } from './PickRow';
import type { Found } from './run';
import { WORDS } from './words';

interface Props {
  shown: readonly Found[];
  picked: ReadonlySet<string>;
  onPick: (key: string, isPicked: boolean) => void;
}

/** The usual height of a row with a description. */
const ROW = 61;

export function PickList({ shown, picked, onPick }: Props) {
  const t = useWords(WORDS);
  const place = useRef<HTMLDivElement>(null);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const toggle = useCallback((key: string) => setOpened((before) => withKeys(before, [key], !before.has(key))), []);
  // eslint-disable-next-line react-hooks/incompatible-library -- its rows are drawn here and nowhere remembered
  const rows = useVirtualizer({ count: shown.length, getScrollElement: () => place.current, estimateSize: () => ROW, overscan: 8 });
  if (shown.length === 0) return <p className={css.nothing}>{t.nothingFits}</p>;
  return (
    <div ref={place} className={css.scroll}>
      <ul className={css.rows} style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, start, key }) => {
          const found = shown[index];
          if (found === undefined) return null;
          return (
            <li
              key={key} ref={rows.measureElement} data-index={index} aria-setsize={shown.length} aria-posinset={index + 1}
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
