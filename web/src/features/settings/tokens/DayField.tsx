// A date field with the browser's own calendar.
import { FieldError, Input, Label, TextField } from 'react-aria-components';

import css from './tokens.module.css';

export interface DayFieldProps {
  label: string;
  /** For example 2026-11-30; empty if no date is chosen. */
  value: string;
  onChange: (day: string) => void;
  error?: string | undefined;
}

export function DayField({ label, value, onChange, error }: DayFieldProps) {
  return (
    <TextField
      className={css.field ?? ''} value={value} onChange={onChange} isInvalid={error !== undefined}
      validationBehavior="aria" isRequired
    >
      <Label className={css.label ?? ''}>{label}</Label>
      <Input type="date" className={css.input ?? ''} />
      {error !== undefined && <FieldError className={css.error ?? ''}>{error}</FieldError>}
    </TextField>
  );
}
