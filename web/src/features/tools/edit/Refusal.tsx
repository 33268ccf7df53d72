// Why something could not be saved, as far as no field says it: a newer version was saved, or the server's own words.
import { type ReactNode, useEffect, useRef } from 'react';

import { type Violation, wordsOf } from '@/api/client';
import { Button } from '@/components/Button';
import { ErrorNote, WarningNote } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import css from './Editor.module.css';
import { isStale } from './useDraft';

const WORDS = words(
  {
    stale: 'Somebody else changed this tool meanwhile.', load: 'Load their version', compare: 'Compare and keep mine',
    some: 'Something needs mending before this can be saved.', at: (path: string, message: string) => `${path}: ${message}`,
  },
  {
    stale: '其他人刚刚修改了这个工具。', load: '加载对方的版本', compare: '比较并保留我的修改',
    some: '有内容需要修改后才能保存。', at: (path: string, message: string) => `${path}：${message}`,
  },
);

export interface RefusalProps {
  error: unknown;
  /** What is wrong and has no field. */
  elsewhere: readonly Violation[];
  /** What is wrong and stands at its field. */
  hasMarked: boolean;
  isOvertaken: boolean;
  reload: (() => void) | undefined;
  /** Opens the comparison with the version that was saved meanwhile. */
  compare: () => void;
}

export function Refusal(props: RefusalProps) {
  const said = useReason(props);
  const place = useRef<HTMLDivElement>(null);
  const { error } = props;
  // Save is at the foot of a long form, from where this may be out of sight.
  useEffect(() => {
    if (error !== null) place.current?.scrollIntoView({ block: 'nearest' });
  }, [error]);
  return said === null ? null : <div ref={place} className={css.refusal}>{said}</div>;
}

function useReason({ error, elsewhere, hasMarked, isOvertaken, reload, compare }: RefusalProps): ReactNode {
  const t = useWords(WORDS);
  if (reload !== undefined && (isOvertaken || isStale(error))) {
    return (
      <WarningNote>
        <div className={css.choice} role="status">
          <span>{t.stale}</span>
          <Button small onPress={compare}>{t.compare}</Button>
          <Button small onPress={reload}>{t.load}</Button>
        </div>
      </WarningNote>
    );
  }
  if (elsewhere.length > 0) return <ErrorNote>{elsewhere.map(({ path, message }) => <div key={path}>{t.at(path, message)}</div>)}</ErrorNote>;
  if (error === null) return null;
  return <ErrorNote>{hasMarked ? t.some : wordsOf(error)}</ErrorNote>;
}
