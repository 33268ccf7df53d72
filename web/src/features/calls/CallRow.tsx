// One call in the list: a line on a desk, a card on a phone.
import { Bot, RotateCcw, UserRound, Zap } from 'lucide-react';
import { memo, type MouseEvent } from 'react';

import { type NameOf, short } from '@/api/names';
import type { Format } from '@/i18n/format';
import { useSources } from '@/i18n/kinds';
import { useWords, words } from '@/i18n/language';

import css from './CallList.module.css';
import type { Row } from './filters';
import { StatusMark } from './StatusMark';

const WORDS = words(
  { cached: 'Cached', attempts: (count: string) => `${count} attempts` },
  { cached: '缓存', attempts: (count: string) => `尝试 ${count} 次` },
);

export interface CallRowProps {
  row: Row;
  /** The address of the list, to which the call is added. */
  base: string;
  /** The duration that fills the bar. */
  longest: number;
  format: Format;
  agentName: NameOf;
  personName: NameOf;
  isOpen: boolean;
  /** The one that the Tab key comes to. */
  isCurrent: boolean;
}

const ROW = 'call-';

export const rowId = (id: string) => `${ROW}${id}`;

/** The call whose link was pressed, unless it is to be opened elsewhere. */
export function pressedCall(event: MouseEvent): string | undefined {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return undefined;
  const link = event.target instanceof Element ? event.target.closest(`a[id^="${ROW}"]`) : null;
  return link?.id.slice(ROW.length);
}

export const CallRow = memo(function CallRow({ row, base, longest, format, agentName, personName, isOpen, isCurrent }: CallRowProps) {
  const t = useWords(WORDS);
  const sources = useSources();
  const who = row.agentId === null
    ? { icon: <UserRound size={14} aria-hidden />, name: personName(row.userId) ?? (row.userId === null ? '—' : short(row.userId)) }
    : { icon: <Bot size={14} aria-hidden />, name: agentName(row.agentId) ?? short(row.agentId) };
  return (
    <div role="row" className={`${css.row} ${isOpen ? css.open : ''}`}>
      <span role="cell" className={css.time}>{format.time(row.startedAt)}</span>
      <span role="cell" className={css.status}><StatusMark status={row.status} /></span>
      <span role="cell" className={css.what}>
        <a id={rowId(row.id)} href={`${base}call=${row.id}`} tabIndex={isCurrent ? 0 : -1} className={css.tool}>{row.toolName}</a>
        {row.error !== null && <span className={css.error}>{row.error.message}</span>}
        {row.attempts > 1 && (
          <span className={css.mark}><RotateCcw size={12} aria-hidden />{t.attempts(format.count(row.attempts))}</span>
        )}
        {row.cached && <span className={css.mark}><Zap size={12} aria-hidden />{t.cached}</span>}
      </span>
      <span role="cell" className={css.duration}>
        <span className={css.bar} aria-hidden><span style={{ width: `${share(row.duration, longest)}%` }} /></span>
        <span className={css.number}>{format.duration(row.duration)}</span>
      </span>
      <span role="cell" className={css.who} title={who.name}>{who.icon}<span>{who.name}</span></span>
      <span role="cell" className={css.source}>{sources[row.source]}</span>
    </div>
  );
});

/** By its root, so that one slow call does not make all others look alike. */
function share(duration: number, longest: number): number {
  return longest <= 0 ? 0 : Math.max(2, Math.sqrt(duration / longest) * 100);
}
