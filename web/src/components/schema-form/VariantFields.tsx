// Variants of an object: a select for the discriminator, and the fields of the selected variant.
import { useMemo } from 'react';

import { Select } from '@/components/Field';
import { ErrorNote } from '@/components/Note';
import { useTexts } from '@/i18n/language';

import { useForm } from './context';
import { errorAt, errorsOfGroup, pathOf } from './errors';
import { FieldView } from './FieldView';
import { initialOf } from './initial';
import { labelOf, rawName } from './label';
import { ObjectFields } from './ObjectFields';
import { type JsonValue, propertiesOf } from './schema';
import css from './SchemaForm.module.css';
import { parseField, labelOfValue } from './shape';
import { useVariant, variantName } from './useVariant';
import type { Variant, Variants } from './variants';
import { TEXTS } from './texts';

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
  const t = useTexts(TEXTS);
  const { errors, isDisabled, root, idPrefix } = useForm();
  const [chosen, choose] = useVariant(of, value, onChange, depth);
  const variant = chosen === null ? undefined : of.variants[chosen];
  const { discriminator } = of;
  const choiceSchema = propertiesOf(of.variants[0]?.schema ?? {}).find(([name]) => name === discriminator)?.[1] ?? {};
  const name = discriminator === null ? t.kindOf(label) : labelOf(choiceSchema, discriminator);
  const raw = discriminator === null ? undefined : rawName(name, discriminator);
  const at = discriminator === null ? path : pathOf(path, discriminator);
  const error = errorAt(errors, at);
  return (
    <>
      <div className={css.field} id={discriminator === null ? undefined : `${idPrefix}-${at}`} data-path={at} data-error={error === undefined ? undefined : ''}>
        <Select
          label={name} isRequired={isRequired} isDisabled={isDisabled} error={error} placeholder={t.choose}
          value={chosen === null ? null : String(chosen)} onChange={(key) => choose(Number(key))}
          options={of.variants.map((one, index) => ({
            value: String(index), label: discriminator === null ? variantName(one, index, t) : (one.title ?? labelOfValue(one.constant ?? null)),
            ...(one.description === undefined ? {} : { description: one.description }),
          }))}
          {...(variant?.description === undefined ? {} : { description: variant.description })}
          {...(raw === undefined ? {} : { aside: <code className={css.raw}>{raw}</code> })}
        />
      </div>
      {variant !== undefined && (
        // The key keeps properties of the same name in two variants apart.
        <Chosen
          key={chosen} variant={variant} label={label} path={path} depth={depth} value={value} onChange={onChange} discriminator={discriminator}
          errorOf={(names) => errorsOfGroup(errors, path, names)} root={root}
        />
      )}
    </>
  );
}

interface ChosenProps extends Omit<Props, 'of' | 'isRequired'> {
  variant: Variant;
  discriminator: string | null;
  errorOf: (names: readonly string[]) => string | undefined;
  root: Parameters<typeof initialOf>[1];
}

function Chosen({ variant, label, path, depth, value, onChange, discriminator, errorOf, root }: ChosenProps) {
  const { shape, schema } = useMemo(() => parseField(variant.schema, root, '', depth), [variant, root, depth]);
  if (shape.kind !== 'object') {
    return <FieldView schema={variant.schema} name="" label={label} path={path} depth={depth + 1} value={value} onChange={onChange} isRequired isInner />;
  }
  const error = path === '' && shape.rest === null ? errorOf(shape.fields.map((field) => field.name)) : undefined;
  return (
    <>
      {error !== undefined && <ErrorNote>{error}</ErrorNote>}
      <ObjectFields
        shape={shape} schema={schema} label={label} path={path} depth={depth} value={value} onChange={onChange} isRequired
        {...(discriminator === null ? {} : { omit: discriminator })}
      />
    </>
  );
}
