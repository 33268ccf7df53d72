// Notes on an import: secrets, skipped operations, and tools that the document no longer has.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import { Badge } from '@/components/Note';
import { Card } from '@/components/Page';
import { useTexts } from '@/i18n/language';

import css from './Findings.module.css';
import { SkippedOperations } from './SkippedOperations';
import type { ImportResult } from './run';
import { secretNamesQuery } from './secrets';
import { TEXTS } from './texts';

export function Findings({ outcome }: { outcome: ImportResult }) {
  const t = useTexts(TEXTS);
  const { secrets, missing, skipped, removed } = outcome;
  // A note about a secret is shown as the badge of that secret.
  const noted = secrets.filter((name) => !missing.includes(name));
  const notes = outcome.notes.filter((note) => !noted.some((name) => note.includes(name)));
  return (
    <>
      {secrets.length > 0 && <Card title={t.secrets}><Secrets outcome={outcome} /></Card>}
      {notes.length > 0 && (
        <Card title={t.notes}><ul className={css.lines}>{notes.map((note) => <li key={note}>{note}</li>)}</ul></Card>
      )}
      {removed.length > 0 && (
        <Card title={t.gone}>
          <p className="quiet small">{t.goneHint}</p>
          <ul className={css.lines}>
            {removed.map((name) => (
              <li key={name}><Link to="/tools/$id" params={{ id: name }} search={{ tab: undefined }}><code>{name}</code></Link></li>
            ))}
          </ul>
        </Card>
      )}
      {skipped.length > 0 && <Card><SkippedOperations skipped={skipped} /></Card>}
    </>
  );
}

/** The secrets of an import. One without a value that the server does not report as missing is part of the source. */
function Secrets({ outcome: { secrets, missing, notes } }: { outcome: ImportResult }) {
  const t = useTexts(TEXTS);
  const { data: existing } = useQuery(secretNamesQuery);
  if (existing === undefined) return null;
  return (
    <ul className={css.secrets}>
      {secrets.map((name) => {
        const isMissing = missing.includes(name) || notes.some((note) => note.includes(name));
        const look = existing.has(name) ? (['good', t.kept] as const) : isMissing ? (['warn', t.missing] as const) : (['accent', t.stored] as const);
        return <li key={name}><code>{name}</code><Badge tone={look[0]}>{look[1]}</Badge></li>;
      })}
    </ul>
  );
}
