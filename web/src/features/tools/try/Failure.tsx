// The error of a call: kind, message, violations, details, and whether a retry can help.
import type { Violation } from '@/api/client';
import { RefusingCircuit } from '@/components/circuit/RefusingCircuit';
import { JsonTree } from '@/components/JsonTree';
import { ErrorNote, Hint } from '@/components/Note';
import { without } from '@/components/schema-form/schema';
import { useFormat } from '@/i18n/format';
import { useKinds } from '@/i18n/kinds';
import { useTexts } from '@/i18n/language';

import css from './TryTab.module.css';
import type { Failed } from './useRun';
import { TEXTS } from './texts';

export function Failure({ result: { error }, violations }: { result: Failed; violations: readonly Violation[] }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const kinds = useKinds();
  const details = without<unknown>(error.details, 'errors', 'retryAfterMs');
  const pause = error.details.retryAfterMs;
  return (
    <>
      <ErrorNote>
        <div className={css.failure}>
          <strong>{kinds[error.kind]}</strong>
          {/* Violations are more specific than the message. */}
          {violations.length === 0 ? error.message : (
            <ul className={css.violations}>
              {violations.map((one) => <li key={`${one.path} ${one.message}`}><code>{one.path}</code> {one.message}</li>)}
            </ul>
          )}
        </div>
      </ErrorNote>
      <RefusingCircuit error={error} />
      <Hint>{error.retryable ? (pause === undefined ? t.again : t.againIn(format.duration(pause))) : t.notAgain}</Hint>
      {Object.keys(details).length > 0 && (
        <section className={css.part} aria-label={t.details}>
          <h3>{t.details}</h3>
          <JsonTree value={details} label={t.details} />
        </section>
      )}
    </>
  );
}
