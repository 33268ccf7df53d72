// A form for a JSON Schema. Empty fields are absent from the value; properties unknown to the schema are preserved.
import { useCallback, useMemo, useRef } from 'react';

import type { Violation } from '@/api/client';
import { ErrorNote } from '@/components/Note';
import { useTexts } from '@/i18n/language';

import { FormContext } from './context';
import { errorsOfGroup } from './errors';
import css from './SchemaForm.module.css';
import { JsonInput } from './JsonInput';
import { ObjectFields } from './ObjectFields';
import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from './schema';
import { parseField } from './shape';
import { VariantFields } from './VariantFields';
import { TEXTS } from './texts';

export interface SchemaFormProps {
  schema: JsonSchema;
  value: JsonObject;
  onChange: (value: JsonObject) => void;
  /** The server's violations, by dotted path. */
  errors?: readonly Violation[];
  isDisabled?: boolean;
  idPrefix?: string;
  /** Called with true while a field holds text that cannot be parsed, such as incomplete JSON. */
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
  const state = useMemo(
    () => ({ root: schema, errors, isDisabled, idPrefix, setBroken }),
    [schema, errors, isDisabled, idPrefix, setBroken],
  );
  const change = (next: JsonValue | undefined) => onChange(isJsonObject(next) ? next : {});
  return (
    <FormContext value={state}>
      <div className={css.form}><RootFields schema={schema} value={value} onChange={change} errors={errors} isDisabled={isDisabled} /></div>
    </FormContext>
  );
}

interface RootFieldsProps {
  schema: JsonSchema;
  value: JsonObject;
  onChange: (value: JsonValue | undefined) => void;
  errors: readonly Violation[];
  isDisabled: boolean;
}

function RootFields({ schema, value, onChange, errors, isDisabled }: RootFieldsProps) {
  const t = useTexts(TEXTS);
  const parsed = useMemo(() => parseField(schema, schema), [schema]);
  const inside = { path: '', depth: 0, value, onChange, isRequired: true };
  const { shape } = parsed;
  if (shape.kind === 'object') {
    const error = shape.rest === null ? errorsOfGroup(errors, '', shape.fields.map((field) => field.name)) : undefined;
    return (
      <>
        {error !== undefined && <ErrorNote>{error}</ErrorNote>}
        {shape.fields.length === 0 && shape.rest === null && <p className="quiet">{t.nothing}</p>}
        <ObjectFields {...inside} schema={parsed.schema} shape={shape} label={t.more} />
      </>
    );
  }
  if (shape.kind === 'variants') return <VariantFields {...inside} label={t.object} of={shape.of} />;
  return (
    <JsonInput
      {...inside} label={t.asJson} isLabelHidden={false} aside={null} description={null} schema={parsed.schema}
      isDisabled={isDisabled} error={errorsOfGroup(errors, '', [])}
    />
  );
}
