// Which variant is open: what the value says, else what was chosen last.
import { useState } from 'react';

import { useForm } from './context';
import { initialOf } from './initial';
import type { JsonValue } from './schema';
import { mayBe, switchVariant, type Variant, variantOf, type Variants } from './variants';
import type { WORDS } from './words';

export function useVariant(
  of: Variants, value: JsonValue | undefined, onChange: (value: JsonValue | undefined) => void, depth: number,
): [chosen: number | null, choose: (to: number) => void] {
  const { root } = useForm();
  const [last, setLast] = useState<number | null>(null);
  const told = variantOf(of, value);
  const lastVariant = last === null ? undefined : of.variants[last];
  const isLastStill = of.discriminator === null && lastVariant !== undefined && mayBe(lastVariant, value);
  const choose = (to: number) => {
    const goal = of.variants[to];
    if (goal === undefined) return;
    setLast(to);
    onChange(switchVariant(of, value, to, initialOf(goal.schema, root, depth)));
  };
  return [isLastStill ? last : told, choose];
}

export function variantName(variant: Variant, index: number, t: typeof WORDS.zh): string {
  if (variant.title !== undefined) return variant.title;
  return variant.type === undefined || variant.type === 'null' ? t.variant(index + 1) : t[variant.type];
}
