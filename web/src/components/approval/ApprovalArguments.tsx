// The arguments of a call that waits for approval: read-only in a form of the tool's schema, editable on
// request.
import { Pencil, Undo2 } from 'lucide-react';

import type { Approval } from '@/api/approvals';
import { errorText, type Violation } from '@/api/client';
import { Button } from '@/components/Button';
import { Hint } from '@/components/Note';
import { Loading } from '@/components/Page';
import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from '@/components/schema-form/schema';
import { SchemaForm } from '@/components/schema-form/SchemaForm';
import { Value } from '@/components/Value';
import { texts, useTexts } from '@/i18n/language';

import css from './ApprovalArguments.module.css';

const TEXTS = texts(
  { args: 'Arguments', edit: 'Edit', undo: 'Undo changes' },
  { args: '参数', edit: '编辑', undo: '撤销修改' },
);

/** The schema of the form, once it is loaded. */
export interface Drawing {
  schema: JsonSchema | undefined;
  isLoading: boolean;
  error: Error | null;
}

interface Props {
  approval: Approval;
  drawing: Drawing;
  /** The edited arguments; `undefined` while they are read-only. */
  edited: JsonObject | undefined;
  onEdit: (value: JsonObject | undefined) => void;
  onBroken: (isBroken: boolean) => void;
  mayEdit: boolean;
  errors: readonly Violation[];
  idPrefix: string;
  /** The heading level: one below that of the surrounding heading. */
  level: 2 | 3;
}

export function ApprovalArguments({ approval, drawing: { schema, isLoading, error }, edited, onEdit, onBroken, mayEdit, errors, idPrefix, level }: Props) {
  const t = useTexts(TEXTS);
  const args = approval.arguments as JsonValue;
  const given = isJsonObject(args) ? args : undefined;
  const Title = `h${level}` as const;
  const isOpen = edited !== undefined;
  const isDrawn = schema !== undefined && given !== undefined;
  return (
    <div role="group" aria-label={t.args} className={`${css.arguments} ${isOpen ? '' : css.readOnly}`}>
      <header className={css.argumentsHead}>
        <Title>{t.args}</Title>
        {mayEdit && isDrawn && (
          <Button small look="quiet" icon={isOpen ? <Undo2 aria-hidden /> : <Pencil aria-hidden />} onPress={() => onEdit(isOpen ? undefined : given)}>
            {isOpen ? t.undo : t.edit}
          </Button>
        )}
      </header>
      {isLoading && <Loading />}
      {isDrawn && (
        <SchemaForm
          // A new key discards typed text that was not accepted.
          key={isOpen ? 'edited' : 'asked'} schema={schema} value={edited ?? given} onChange={onEdit} errors={errors}
          isDisabled={!isOpen} idPrefix={`${idPrefix}-argument`} onBroken={onBroken}
        />
      )}
      {!isDrawn && !isLoading && (
        <>
          {error !== null && <Hint>{errorText(error)}</Hint>}
          <Value value={args} label={t.args} />
        </>
      )}
    </div>
  );
}
