// One operation of a preview in full: the differences, the request that a call would send, and the definition.
import { CodeBlock, pretty } from '@/components/Code';
import { useWords } from '@/i18n/language';

import { Changes } from '../versions/Changes';
import css from './PickList.module.css';
import type { Found } from './run';
import { WORDS } from './words';

/** Whether there is anything to unfold. */
export const hasDetails = ({ changes, definition, request }: Found): boolean => (
  changes.length > 0 || definition !== undefined || request !== undefined
);

export function PickDetails({ found: { name, changes, definition, request } }: { found: Found }) {
  const t = useWords(WORDS);
  return (
    <div className={css.details}>
      {changes.length > 0 && <Changes changes={changes} />}
      {request !== undefined && (
        <section>
          <h3>{t.request}</h3>
          <CodeBlock text={request} label={t.requestOf(name)} />
        </section>
      )}
      {definition !== undefined && (
        <section>
          <h3>{t.definition}</h3>
          <CodeBlock text={pretty(definition)} label={t.definitionOf(name)} />
        </section>
      )}
    </div>
  );
}
