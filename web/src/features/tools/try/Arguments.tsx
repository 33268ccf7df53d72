// The arguments of a call, as a form or as JSON.
import type { Violation } from '@/api/client';
import { CodeEditor } from '@/components/Code';
import type { JsonSchema } from '@/components/schema-form/schema';
import { SchemaForm } from '@/components/schema-form/SchemaForm';
import { useTexts } from '@/i18n/language';

import { type Draft, readArguments, withText, withValue } from './draft';
import css from './TryTab.module.css';
import { TEXTS } from './texts';

interface Props {
  schema: JsonSchema;
  draft: Draft;
  change: (edit: (draft: Draft) => Draft) => void;
  errors: readonly Violation[];
  isDisabled: boolean;
  onBroken: (isBroken: boolean) => void;
}

export function Arguments({ schema, draft, change, errors, isDisabled, onBroken }: Props) {
  const t = useTexts(TEXTS);
  if (draft.mode === 'form') {
    return (
      <SchemaForm
        schema={schema} value={draft.value} onChange={(value) => change((now) => withValue(now, value))} errors={errors} isDisabled={isDisabled}
        idPrefix="argument" onBroken={onBroken}
      />
    );
  }
  const read = readArguments(draft.text);
  const why = 'value' in read ? undefined : read.why === null ? t.notObject : t.badJson(read.why);
  return (
    <div className={css.text}>
      <CodeEditor
        label={t.arguments} value={draft.text} minHeight={220} isInvalid={why !== undefined}
        {...(isDisabled ? {} : { onChange: (text: string) => change((now) => withText(now, text)) })}
      />
      {why !== undefined && <p className={css.wrong} role="alert">{why}</p>}
      {errors.length > 0 && (
        <ul className={css.violations}>
          {errors.map((error) => <li key={`${error.path} ${error.message}`}><code>{error.path}</code> {error.message}</li>)}
        </ul>
      )}
    </div>
  );
}
