// A radio group that shows all of its options.
import { Label, RadioButton, RadioField, RadioGroup } from 'react-aria-components';

import css from './parts.module.css';

export interface ChoiceProps<V extends string> {
  label: string;
  value: V;
  options: readonly { value: V; label: string; about?: string }[];
  onChange: (value: V) => void;
  /** Stacks the options, each with its description. */
  isTall?: boolean;
}

export function Choice<V extends string>({ label, value, options, onChange, isTall = false }: ChoiceProps<V>) {
  return (
    <RadioGroup value={value} onChange={(next) => onChange(next as V)} className={css.choice ?? ''}>
      <Label className={css.choiceLabel ?? ''}>{label}</Label>
      <div className={isTall ? css.tall : css.segments}>
        {options.map((option) => (
          <RadioField key={option.value} value={option.value}>
            <RadioButton className={(isTall ? css.card : css.segment) ?? ''}>
              <span>{option.label}</span>
              {option.about !== undefined && <span className={css.cardAbout}>{option.about}</span>}
            </RadioButton>
          </RadioField>
        ))}
      </div>
    </RadioGroup>
  );
}
