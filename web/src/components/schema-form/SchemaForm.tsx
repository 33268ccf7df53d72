// A form drawn from a JSON Schema. What is left empty is absent from the value; what the schema does not know stays in it.
import { useCallback, useMemo, useRef } from 'react';

import type { Violation } from '@/api/client';
import { ErrorNote } from '@/components/Note';
import { useWords } from '@/i18n/language';

import { FormContext } from './context';
import { errorsOfGroup } from './errors';
import css from './SchemaForm.module.css';
import { JsonInput } from './JsonInput';
import { ObjectFields } from './ObjectFields';
import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from './schema';
import { draw } from './shape';
import { VariantFields } from './VariantFields';
import { WORDS } from './words';

export interface SchemaFormProps {
  schema: JsonSchema;
  value: JsonObject;
  onChange: (value: JsonObject) => void;
  /** What the server found wrong, by dotted path. */
  errors?: readonly Violation[];
  isDisabled?: boolean;
  idPrefix?: string;
  /** Whether something in it cannot be sent as it stands, such as half a JSON text. */
  onBroken?: (isBroken: boolean) => void;
}

const NONE: readonly Violation[] = [];

export function SchemaForm({ schema, value, onChange, errors = NONE, isDisabled = false, idPrefix = 'field', onBroken }: SchemaFormProps) {
  const broken = useRef(new Set<string>());
  const setBroken = useCallback((path: string, isBroken: boolean) => {
    if (isBroken) broken.current.add(path);
    else broken.current.delete(path);
    onBroken?.(broken.current.size > 0);
  }, [onBroken]);
  const knows = useMemo(
    () => ({ root: schema, errors, isDisabled, idPrefix, setBroken }),
    [schema, errors, isDisabled, idPrefix, setBroken],
  );
  const change = (next: JsonValue | undefined) => onChange(isJsonObject(next) ? next : {});
  return (
    <FormContext value={knows}>
      <div className={css.form}><Whole schema={schema} value={value} onChange={change} errors={errors} isDisabled={isDisabled} /></div>
    </FormContext>
  );
}

interface WholeProps {
  schema: JsonSchema;
  value: JsonObject;
  onChange: (value: JsonValue | undefined) => void;
  errors: readonly Violation[];
  isDisabled: boolean;
}

function Whole({ schema, value, onChange, errors, isDisabled }: WholeProps) {
  const t = useWords(WORDS);
  const drawn = useMemo(() => draw(schema, schema), [schema]);
  const inside = { path: '', depth: 0, value, onChange, isRequired: true };
  const { shape } = drawn;
  if (shape.kind === 'object') {
    const error = shape.rest === null ? errorsOfGroup(errors, '', shape.fields.map((field) => field.name)) : undefined;
    return (
      <>
        {error !== undefined && <ErrorNote>{error}</ErrorNote>}
        {shape.fields.length === 0 && shape.rest === null && <p className="quiet">{t.nothing}</p>}
        <ObjectFields {...inside} schema={drawn.schema} shape={shape} label={t.more} />
      </>
    );
  }
  if (shape.kind === 'variants') return <VariantFields {...inside} label={t.object} of={shape.of} />;
  return (
    <JsonInput
      {...inside} label={t.asJson} isLabelHidden={false} aside={null} description={null} schema={drawn.schema}
      isDisabled={isDisabled} error={errorsOfGroup(errors, '', [])}
    />
  );
}
