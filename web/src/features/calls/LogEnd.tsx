// The end of the list: how far back the log was searched, and whether there is more.
import { LoaderCircle } from 'lucide-react';

import { Button } from '@/components/Button';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import css from './CallsPage.module.css';
import type { Following } from './useLog';

const TEXTS = texts(
  {
    looking: (time: string) => `Searched back to ${time}, continuing…`, more: 'Loading more…', looked: (time: string) => `Searched back to ${time}.`,
    further: 'Search further back', all: (count: string) => `End of the log: ${count} calls.`, one: 'End of the log: 1 call.',
  },
  {
    looking: (time: string) => `已查到 ${time}，继续查找…`, more: '正在加载更多…', looked: (time: string) => `已查到 ${time}。`,
    further: '继续往前查找', all: (count: string) => `全部 ${count} 条调用都在这里了。`, one: '全部 1 条调用都在这里了。',
  },
);

export function LogEnd({ log }: { log: Following }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const time = log.searchedBackTo === undefined ? undefined : format.time(log.searchedBackTo);
  if (log.isPending || log.error !== null) return null;
  if (!log.hasMore) {
    if (log.rows.length === 0) return null;
    return <p className={css.end}>{log.rows.length === 1 ? t.one : t.all(format.count(log.rows.length))}</p>;
  }
  return (
    <div className={css.end} role="status">
      {log.isFetchingMore ? (
        <span>{time === undefined ? t.more : t.looking(time)}</span>
      ) : (
        <>
          {time !== undefined && <span>{t.looked(time)}</span>}
          {log.isSearchPaused && <Button small icon={<LoaderCircle aria-hidden />} onPress={log.continueSearch}>{t.further}</Button>}
        </>
      )}
    </div>
  );
}
