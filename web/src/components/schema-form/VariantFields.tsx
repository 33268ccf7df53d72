// One of several objects, told apart by one of their fields: that field as a choice, and the fields of the chosen one alone.
import { useMemo } from 'react';

import { Select } from '@/components/Field';
import { ErrorNote } from '@/components/Note';
import { useWords } from '@/i18n/language';

import { useForm } from './context';
import { errorAt, errorsOfGroup, pathOf } from './errors';
import { FieldView } from './FieldView';
import { initialOf } from './initial';
import { labelOf, rawName } from './label';
import { ObjectFields } from './ObjectFields';
import { type JsonValue, propertiesOf } from './schema';
import css from './SchemaForm.module.css';
import { draw, labelOfValue } from './shape';
import { useVariant, variantName } from './useVariant';
import type { Variant, Variants } from './variants';
import { WORDS } from './words';

interface Props {
  of: Variants;
  label: string;
  path: string;
  depth: number;
  value: JsonValue | undefined;
  onChange: (value: JsonValue | undefined) => void;
  isRequired: boolean;
}

export function VariantFields({ of, label, path, depth, value, onChange, isRequired }: Props) {
  const t = useWords(WORDS);
  const { errors, isDisabled, root, idPrefix } = useForm();
  const [chosen, choose] = useVariant(of, value, onChange, depth);
  const variant = chosen === null ? undefined : of.variants[chosen];
  const mark = of.discriminator;
  const choiceSchema = propertiesOf(of.variants[0]?.schema ?? {}).find(([name]) => name === mark)?.[1] ?? {};
  const name = mark === null ? t.kindOf(label) : labelOf(choiceSchema, mark);
  const raw = mark === null ? undefined : rawName(name, mark);
  const at = mark === null ? path : pathOf(path, mark);
  const error = errorAt(errors, at);
  return (
    <>
      <div className={css.field} id={mark === null ? undefined : `${idPrefix}-${at}`} data-path={at} data-wrong={error === undefined ? undefined : ''}>
        <Select
          label={name} isRequired={isRequired} isDisabled={isDisabled} error={error} placeholder={t.choose}
          value={chosen === null ? null : String(chosen)} onChange={(key) => choose(Number(key))}
          options={of.variants.map((one, index) => ({
            value: String(index), label: mark === null ? variantName(one, index, t) : (one.title ?? labelOfValue(one.mark ?? null)),
            ...(one.description === undefined ? {} : { description: one.description }),
          }))}
          {...(variant?.description === undefined ? {} : { description: variant.description })}
          {...(raw === undefined ? {} : { aside: <code className={css.raw}>{raw}</code> })}
        />
      </div>
      {variant !== undefined && (
        // Fields of the same name in two variants are two fields.
        <Chosen
          key={chosen} variant={variant} label={label} path={path} depth={depth} value={value} onChange={onChange} mark={mark}
          complaint={(names) => errorsOfGroup(errors, path, names)} root={root}
        />
      )}
    </>
  );
}

interface ChosenProps extends Omit<Props, 'of' | 'isRequired'> {
  variant: Variant;
  mark: string | null;
  complaint: (names: readonly string[]) => string | undefined;
  root: Parameters<typeof initialOf>[1];
}

function Chosen({ variant, label, path, depth, value, onChange, mark, complaint, root }: ChosenProps) {
  const { shape, schema } = useMemo(() => draw(variant.schema, root, '', depth), [variant, root, depth]);
  if (shape.kind !== 'object') {
    return <FieldView schema={variant.schema} name="" label={label} path={path} depth={depth + 1} value={value} onChange={onChange} isRequired isInner />;
  }
  const error = path === '' && shape.rest === null ? complaint(shape.fields.map((field) => field.name)) : undefined;
  return (
    <>
      {error !== undefined && <ErrorNote>{error}</ErrorNote>}
      <ObjectFields
        shape={shape} schema={schema} label={label} path={path} depth={depth} value={value} onChange={onChange} isRequired
        {...(mark === null ? {} : { omit: mark })}
      />
    </>
  );
}
