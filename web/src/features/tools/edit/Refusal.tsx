// Why something could not be saved, as far as no field says it: somebody was faster, or the server's own words.
import { type Violation, wordsOf } from '@/api/client';
import { Button } from '@/components/Button';
import { ErrorNote, WarningNote } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import { isStale } from './useDraft';

const WORDS = words(
  {
    stale: 'Somebody else changed this tool meanwhile. Loading their version discards what you typed here.', load: 'Load their version',
    some: 'Something needs mending before this can be saved.', at: (path: string, message: string) => `${path}: ${message}`,
  },
  {
    stale: '其他人刚刚修改了这个工具。加载对方的版本会放弃你在此处的修改。', load: '加载对方的版本',
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
}

export function Refusal({ error, elsewhere, hasMarked, isOvertaken, reload }: RefusalProps) {
  const t = useWords(WORDS);
  if (reload !== undefined && (isOvertaken || isStale(error))) {
    return <WarningNote>{t.stale} <Button small onPress={reload}>{t.load}</Button></WarningNote>;
  }
  if (elsewhere.length > 0) return <ErrorNote>{elsewhere.map(({ path, message }) => <div key={path}>{t.at(path, message)}</div>)}</ErrorNote>;
  if (error === null) return null;
  return <ErrorNote>{hasMarked ? t.some : wordsOf(error)}</ErrorNote>;
}
