// A number within its limits. A value that is not a number is shown as an empty field.
import { NumberField } from '@/components/Field';

import { frameOf, type InputProps } from './field';
import { numberOf } from './schema';
import type { Shape } from './shape';

export function NumberInput({ shape, ...props }: InputProps & { shape: Extract<Shape, { kind: 'number' }> }) {
  const { value, schema, onChange } = props;
  const { minimum, maximum, step } = shape;
  // The server applies the default while the field is empty.
  const preset = numberOf(schema, 'default');
  return (
    <NumberField
      {...frameOf(props)} value={typeof value === 'number' ? value : undefined} onChange={onChange}
      {...(minimum === undefined ? {} : { minimum })} {...(maximum === undefined ? {} : { maximum })} {...(step === undefined ? {} : { step })}
      {...(preset === undefined ? {} : { placeholder: String(preset) })}
    />
  );
}
