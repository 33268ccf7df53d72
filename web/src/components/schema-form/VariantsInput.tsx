// A nested value with variants: a group with a discriminator, or a switch between types.
import { Segmented } from '@/components/Segmented';
import { useTexts } from '@/i18n/language';

import type { InputProps } from './field';
import { FieldView } from './FieldView';
import { Group } from './Group';
import css from './SchemaForm.module.css';
import { useVariant, variantName } from './useVariant';
import { VariantFields } from './VariantFields';
import type { Variants } from './variants';
import { TEXTS } from './texts';

/** Up to this number of variants are shown as a segmented control, more as a select. */
const MAX_SEGMENTS = 3;

export function VariantsInput({ of, ...props }: InputProps & { of: Variants }) {
  const isPlain = of.discriminator === null && of.variants.length <= MAX_SEGMENTS;
  if (isPlain) return <PlainVariants {...props} of={of} />;
  return <Group {...props}><VariantFields {...props} of={of} /></Group>;
}

function PlainVariants({ of, ...props }: InputProps & { of: Variants }) {
  const { label, isLabelHidden, aside, path, depth, value, onChange, isRequired, isDisabled, schema } = props;
  const t = useTexts(TEXTS);
  const [chosen, choose] = useVariant(of, value, onChange, depth);
  const at = chosen ?? 0;
  const variant = of.variants[at];
  if (variant === undefined) return null;
  const description = [schema['description'], variant.description].find((one) => typeof one === 'string');
  const switcher = (
    <>
      {aside}
      <Segmented
        small label={t.kindOf(label)} value={String(at)} isDisabled={isDisabled} onChange={(key) => choose(Number(key))}
        options={of.variants.map((one, index) => ({ value: String(index), label: variantName(one, index, t) }))}
      />
    </>
  );
  return (
    <div className={css.variant}>
      <FieldView
        key={at} schema={description === undefined ? variant.schema : { ...variant.schema, description }} name="" label={label}
        isLabelHidden={isLabelHidden} path={path} depth={depth + 1} value={value} onChange={onChange} isRequired={isRequired} aside={switcher} isInner
      />
    </div>
  );
}
