// What this server leaves alone for now, since it kept failing.
import { Link } from '@tanstack/react-router';
import { Unplug } from 'lucide-react';

import { useWords, words } from '@/i18n/language';

import css from './OverviewPage.module.css';
import { ALL_CALLS } from './windows';

const WORDS = words(
  { open: 'Open circuits', left: 'kept failing, so calls to it end at once for now', show: 'Show the calls' },
  { open: '熔断', left: '持续失败，暂时直接拒绝对它的调用', show: '查看相关调用' },
);

export function OpenCircuits({ origins }: { origins: readonly string[] }) {
  const t = useWords(WORDS);
  if (origins.length === 0) return null;
  return (
    <section className={css.alerts} aria-label={t.open}>
      {origins.map((origin) => (
        <div key={origin} className={css.alert}>
          <Unplug size={16} aria-hidden />
          <strong>{origin}</strong>
          <span>{t.left}</span>
          <Link to="/calls" search={{ ...ALL_CALLS, from: '1h', kind: 'CircuitOpen' }}>{t.show}</Link>
        </div>
      ))}
    </section>
  );
}
