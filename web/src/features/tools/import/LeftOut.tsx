// Operations that an import leaves out, each with the reason.
import type { Schemas } from '@/api/client';
import { useFormat } from '@/i18n/format';
import { useWords } from '@/i18n/language';

import css from './Findings.module.css';
import { WORDS } from './words';

export function LeftOut({ skipped }: { skipped: Schemas['ImportReport']['skipped'] }) {
  const t = useWords(WORDS);
  const format = useFormat();
  return (
    <details open className={css.details}>
      <summary>{t.skipped(format.count(skipped.length))}</summary>
      <ul className={css.lines}>
        {skipped.map(({ operation, reason }, at) => (
          <li key={`${operation} ${at}`}><code>{operation}</code><span className="quiet">{reason}</span></li>
        ))}
      </ul>
    </details>
  );
}
