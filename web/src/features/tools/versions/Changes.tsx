// Where two definitions differ: each place with what was there and what is.
import type { Schemas } from '@/api/client';
import { useWords } from '@/i18n/language';

import css from './Changes.module.css';
import { WORDS } from './words';

type Difference = Schemas['Difference'];

export function Changes({ changes }: { changes: readonly Difference[] }) {
  const t = useWords(WORDS);
  return (
    <ul className={css.changes}>
      {changes.map(({ path, before, after }) => (
        <li key={path} className={css.change}>
          <code className={css.path}>{path}</code>
          <div className={css.values}>
            <Value label={t.before} look={css.before} value={before} />
            <Value label={t.after} look={css.after} value={after} />
          </div>
        </li>
      ))}
    </ul>
  );
}

function Value({ label, look, value }: { label: string; look: string | undefined; value: unknown }) {
  const t = useWords(WORDS);
  const isNothing = value === null || value === undefined;
  return (
    <div className={`${css.value} ${look}`}>
      <span className="hidden">{label}</span>
      {isNothing ? <span className={css.nothing}>{t.nothing}</span> : <code>{shown(value)}</code>}
    </div>
  );
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 1));
