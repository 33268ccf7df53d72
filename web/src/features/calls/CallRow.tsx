// One call in the list: a table row on wide screens, a card on a phone.
import { Bot, RotateCcw, UserRound, Zap } from 'lucide-react';
import { memo, type MouseEvent } from 'react';

import { type NameOf, short } from '@/api/names';
import type { Format } from '@/i18n/format';
import { useSources } from '@/i18n/kinds';
import { texts, useTexts } from '@/i18n/language';

import css from './CallList.module.css';
import type { Row } from './filters';
import { StatusMark } from './StatusMark';

const TEXTS = texts(
  { cached: 'Cached', attempts: (count: string) => `${count} attempts` },
  { cached: '缓存', attempts: (count: string) => `尝试 ${count} 次` },
);

export interface CallRowProps {
  row: Row;
  /** The address of the list; the call's id is appended. */
  base: string;
  /** The duration of a full bar. */
  longest: number;
  format: Format;
  agentName: NameOf;
  personName: NameOf;
  isOpen: boolean;
  /** True for the row that the Tab key focuses (roving tabindex). */
  isCurrent: boolean;
}

const ROW = 'call-';

export const rowId = (id: string) => `${ROW}${id}`;

/** The id of the call whose link was clicked. Returns `undefined` if the click opens a new tab or window. */
export function pressedCall(event: MouseEvent): string | undefined {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return undefined;
  const link = event.target instanceof Element ? event.target.closest(`a[id^="${ROW}"]`) : null;
  return link?.id.slice(ROW.length);
}

export const CallRow = memo(function CallRow({ row, base, longest, format, agentName, personName, isOpen, isCurrent }: CallRowProps) {
  const t = useTexts(TEXTS);
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

/** The length of the bar. The square root keeps short calls distinguishable beside one slow call. */
function share(duration: number, longest: number): number {
  return longest <= 0 ? 0 : Math.max(2, Math.sqrt(duration / longest) * 100);
}
