// The selected variant: the user's last choice while the value fits it, or else the variant that matches best.
import { useState } from 'react';

import { useForm } from './context';
import { initialOf } from './initial';
import type { JsonValue } from './schema';
import { fitsVariant, switchVariant, type Variant, variantOf, type Variants } from './variants';
import type { TEXTS } from './texts';

export function useVariant(
  of: Variants, value: JsonValue | undefined, onChange: (value: JsonValue | undefined) => void, depth: number,
): [chosen: number | null, choose: (to: number) => void] {
  const { root } = useForm();
  const [last, setLast] = useState<number | null>(null);
  const matching = variantOf(of, value);
  const lastVariant = last === null ? undefined : of.variants[last];
  const isLastValid = of.discriminator === null && lastVariant !== undefined && fitsVariant(lastVariant, value);
  const choose = (to: number) => {
    const goal = of.variants[to];
    if (goal === undefined) return;
    setLast(to);
    onChange(switchVariant(of, value, to, initialOf(goal.schema, root, depth)));
  };
  return [isLastValid ? last : matching, choose];
}

export function variantName(variant: Variant, index: number, t: typeof TEXTS.zh): string {
  if (variant.title !== undefined) return variant.title;
  return variant.type === undefined || variant.type === 'null' ? t.variant(index + 1) : t[variant.type];
}
