// One field: the input for its schema, with label, description, limits and error.
import { memo, type ReactNode, useMemo } from 'react';

import { useTexts } from '@/i18n/language';

import { BooleanInput } from './BooleanInput';
import { ChoiceInput } from './ChoiceInput';
import { ConstInput } from './ConstInput';
import { useForm } from './context';
import { errorAt } from './errors';
import type { InputProps } from './field';
import { JsonInput } from './JsonInput';
import { labelOf, rawName } from './label';
import { limitsOf } from './limits';
import { ListInput } from './ListInput';
import { NullToggle } from './NullToggle';
import { NumberInput } from './NumberInput';
import { ObjectInput } from './ObjectInput';
import { type JsonSchema, type JsonValue, textOf } from './schema';
import css from './SchemaForm.module.css';
import { type ParsedField, parseField } from './shape';
import { TextInput } from './TextInput';
import { VariantsInput } from './VariantsInput';
import { TEXTS } from './texts';

export interface FieldViewProps {
  schema: JsonSchema;
  name: string;
  path: string;
  depth: number;
  value: JsonValue | undefined;
  onChange: (value: JsonValue | undefined) => void;
  isRequired: boolean;
  /** Replaces the label from the schema or the property name. */
  label?: string;
  isLabelHidden?: boolean;
  aside?: ReactNode;
  /** Rendered inside another field that has the same path. */
  isInner?: boolean;
}

export const FieldView = memo(function FieldView(props: FieldViewProps) {
  const { schema, name, path, depth, value, onChange, isRequired, isLabelHidden = false, aside, isInner = false } = props;
  const { root, errors, isDisabled, idPrefix } = useForm();
  const t = useTexts(TEXTS);
  const parsed = useMemo(() => parseField(schema, root, name, depth), [schema, root, name, depth]);
  const label = props.label ?? labelOf(parsed.schema, name);
  const raw = props.label === undefined ? rawName(label, name) : undefined;
  const limits = limitsOf(parsed, t);
  const about = textOf(parsed.schema, 'description');
  const error = errorAt(errors, path);
  const isNull = parsed.isNullable && value === null;
  const hasAside = raw !== undefined || parsed.isNullable || aside !== undefined;
  const input: InputProps = {
    label, isLabelHidden, path, depth, isRequired, error, value: isNull ? undefined : value, onChange, schema: parsed.schema,
    isDisabled: isDisabled || isNull,
    description: about === undefined && limits === undefined ? null : <About text={about} limits={limits} />,
    aside: !hasAside ? null : (
      <span className={css.aside}>
        {raw !== undefined && <code className={css.raw}>{raw}</code>}
        {aside}
        {parsed.isNullable && <NullToggle label={label} isNull={isNull} isDisabled={isDisabled} onChange={onChange} />}
      </span>
    ),
  };
  return (
    <div className={css.field} id={isInner ? undefined : `${idPrefix}-${path}`} data-path={path} data-error={error === undefined ? undefined : ''}>
      <Input parsed={parsed} input={input} />
    </div>
  );
});

function Input({ parsed: { shape }, input }: { parsed: ParsedField; input: InputProps }) {
  switch (shape.kind) {
    case 'const':
      return <ConstInput {...input} fixed={shape.value} />;
    case 'null':
      return <ConstInput {...input} fixed={null} />;
    case 'choice':
      return <ChoiceInput {...input} options={shape.options} />;
    case 'text':
      return <TextInput {...input} input={shape.input} isLong={shape.isLong} />;
    case 'number':
      return <NumberInput {...input} shape={shape} />;
    case 'boolean':
      return <BooleanInput {...input} />;
    case 'object':
      return <ObjectInput {...input} shape={shape} />;
    case 'list':
      return <ListInput {...input} shape={shape} />;
    case 'variants':
      return <VariantsInput {...input} of={shape.of} />;
    case 'json':
      return <JsonInput {...input} />;
  }
}

function About({ text, limits }: { text: string | undefined; limits: string | undefined }) {
  // A dot separates them if the text does not end with punctuation.
  const parted = text === undefined ? '' : `${css.apart} ${/[.。!?！？]$/.test(text) ? '' : css.dotted}`;
  return (
    <>
      {text}
      {limits !== undefined && <span className={parted}>{limits}</span>}
    </>
  );
}
