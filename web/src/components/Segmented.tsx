// A segmented control: one of a few visible options.
import { ToggleButton, ToggleButtonGroup } from 'react-aria-components';

import css from './Segmented.module.css';

export interface SegmentedProps<V extends string> {
  label: string;
  value: V;
  options: readonly { value: V; label: string }[];
  onChange: (value: V) => void;
  isDisabled?: boolean;
  small?: boolean;
}

export function Segmented<V extends string>({ label, value, options, onChange, isDisabled, small = false }: SegmentedProps<V>) {
  return (
    <ToggleButtonGroup
      aria-label={label} selectionMode="single" disallowEmptySelection selectedKeys={[value]} isDisabled={isDisabled}
      className={`${css.group} ${small ? css.small : ''}`}
      onSelectionChange={(keys) => {
        const [chosen] = keys;
        if (chosen !== undefined) onChange(chosen as V);
      }}
    >
      {options.map((option) => <ToggleButton key={option.value} id={option.value} className={css.option ?? ''}>{option.label}</ToggleButton>)}
    </ToggleButtonGroup>
  );
}
