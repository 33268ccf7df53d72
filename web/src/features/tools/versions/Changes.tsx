// The differences of two definitions: each path with the old and the new value.
import type { Schemas } from '@/api/client';
import { useTexts } from '@/i18n/language';

import css from './Changes.module.css';
import { TEXTS } from './texts';

export function Changes({ changes }: { changes: readonly Schemas['Difference'][] }) {
  const t = useTexts(TEXTS);
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
  const t = useTexts(TEXTS);
  const isNothing = value === null || value === undefined;
  return (
    <div className={`${css.value} ${look}`}>
      <span className="hidden">{label}</span>
      {isNothing ? <span className={css.nothing}>{t.nothing}</span> : <code>{formatValue(value)}</code>}
    </div>
  );
}

const formatValue = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 1));
