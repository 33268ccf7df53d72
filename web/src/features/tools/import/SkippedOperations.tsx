// The operations that an import skips, each with the reason.
import type { Schemas } from '@/api/client';
import { useFormat } from '@/i18n/format';
import { useTexts } from '@/i18n/language';

import css from './Findings.module.css';
import { TEXTS } from './texts';

export function SkippedOperations({ skipped }: { skipped: Schemas['ImportReport']['skipped'] }) {
  const t = useTexts(TEXTS);
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
