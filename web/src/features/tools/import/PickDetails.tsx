// Details of an operation in the preview: differences, example request, and definition.
import { CodeBlock, pretty } from '@/components/Code';
import { useTexts } from '@/i18n/language';

import { Changes } from '../versions/Changes';
import css from './PickList.module.css';
import type { ImportItem } from './run';
import { TEXTS } from './texts';

/** Returns true if an operation has details to show. */
export const hasDetails = ({ changes, definition, request }: ImportItem): boolean => (
  changes.length > 0 || definition !== undefined || request !== undefined
);

export function PickDetails({ found: { name, changes, definition, request } }: { found: ImportItem }) {
  const t = useTexts(TEXTS);
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
