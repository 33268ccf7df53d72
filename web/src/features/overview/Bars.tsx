// A short ranking with bars; each entry links to its calls.
import { Link } from '@tanstack/react-router';

import css from './OverviewPage.module.css';
import type { ALL_CALLS } from './windows';

export interface Bar {
  id: string;
  name: string;
  size: number;
  text: string;
  search: { [K in keyof typeof ALL_CALLS]: string | undefined };
}

export interface BarsProps {
  bars: readonly Bar[];
  tone?: 'accent' | 'warn' | 'bad';
  /** The text of the empty list. */
  empty: string;
}

export function Bars({ bars, tone = 'accent', empty }: BarsProps) {
  const most = bars.reduce((size, bar) => Math.max(size, bar.size), 0);
  if (bars.length === 0) return <p className="quiet">{empty}</p>;
  return (
    <ol className={css.bars}>
      {bars.map((bar) => (
        <li key={bar.id}>
          <Link to="/calls" search={bar.search} className={css.bar ?? ''}>
            <span className={css.barName}>{bar.name}</span>
            <span className={css.barText}>{bar.text}</span>
            <span className={css.barTrack} aria-hidden><span className={css[tone]} style={{ width: `${Math.max(1, (bar.size / most) * 100)}%` }} /></span>
          </Link>
        </li>
      ))}
    </ol>
  );
}
