// What an import leaves out, and why.
import type { Schemas } from '@/api/client';
import { useFormat } from '@/i18n/format';
import { useWords } from '@/i18n/language';

import css from './Findings.module.css';
import { WORDS } from './words';

interface Props {
  skipped: Schemas['ImportReport']['skipped'];
  isOpen?: boolean;
}

export function LeftOut({ skipped, isOpen = false }: Props) {
  const t = useWords(WORDS);
  const format = useFormat();
  return (
    <details open={isOpen} className={css.details}>
      <summary>{t.skipped(format.count(skipped.length))}</summary>
      <ul className={css.lines}>
        {skipped.map(({ operation, reason }, at) => (
          <li key={`${operation} ${at}`}><code>{operation}</code><span className="quiet">{reason}</span></li>
        ))}
      </ul>
    </details>
  );
}
