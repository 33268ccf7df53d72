// What the tool would be called with: drawn as its form, to be read, and to be changed once one says so.
import { Pencil, Undo2 } from 'lucide-react';

import type { Approval } from '@/api/approvals';
import { type Violation, wordsOf } from '@/api/client';
import { Button } from '@/components/Button';
import { Hint } from '@/components/Note';
import { Loading } from '@/components/Page';
import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from '@/components/schema-form/schema';
import { SchemaForm } from '@/components/schema-form/SchemaForm';
import { Value } from '@/components/Value';
import { useWords, words } from '@/i18n/language';

import css from './AskedArguments.module.css';

const WORDS = words(
  { args: 'Arguments', edit: 'Edit', undo: 'Undo changes' },
  { args: '参数', edit: '编辑', undo: '撤销修改' },
);

/** What the form is drawn from, once it is known. */
export interface Drawing {
  schema: JsonSchema | undefined;
  isLoading: boolean;
  error: Error | null;
}

interface Props {
  approval: Approval;
  drawing: Drawing;
  /** As they were changed; undefined while they are only read. */
  edited: JsonObject | undefined;
  onEdit: (value: JsonObject | undefined) => void;
  onBroken: (isBroken: boolean) => void;
  mayEdit: boolean;
  errors: readonly Violation[];
  idPrefix: string;
  /** Of the heading: one below that of what it stands in. */
  level: 2 | 3;
}

export function AskedArguments({ approval, drawing: { schema, isLoading, error }, edited, onEdit, onBroken, mayEdit, errors, idPrefix, level }: Props) {
  const t = useWords(WORDS);
  const asked = approval.arguments as JsonValue;
  const given = isJsonObject(asked) ? asked : undefined;
  const Title = `h${level}` as const;
  const isOpen = edited !== undefined;
  const isDrawn = schema !== undefined && given !== undefined;
  return (
    <div role="group" aria-label={t.args} className={`${css.arguments} ${isOpen ? '' : css.still}`}>
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
          // What was typed and not taken over is gone with the changes.
          key={isOpen ? 'edited' : 'asked'} schema={schema} value={edited ?? given} onChange={onEdit} errors={errors}
          isDisabled={!isOpen} idPrefix={`${idPrefix}-argument`} onBroken={onBroken}
        />
      )}
      {!isDrawn && !isLoading && (
        <>
          {error !== null && <Hint>{wordsOf(error)}</Hint>}
          <Value value={asked} label={t.args} />
        </>
      )}
    </div>
  );
}
