// A toggle that sends null, which differs from leaving the field empty.
import { ToggleButton } from 'react-aria-components';

import { useTexts } from '@/i18n/language';

import type { JsonValue } from './schema';
import css from './SchemaForm.module.css';
import { TEXTS } from './texts';

interface Props {
  label: string;
  isNull: boolean;
  isDisabled: boolean;
  onChange: (value: JsonValue | undefined) => void;
}

export function NullToggle({ label, isNull, isDisabled, onChange }: Props) {
  const t = useTexts(TEXTS);
  return (
    <ToggleButton
      aria-label={t.sendNull(label)} isSelected={isNull} isDisabled={isDisabled} className={css.null ?? ''}
      onChange={(isSelected) => onChange(isSelected ? null : undefined)}
    >
      {t.null}
    </ToggleButton>
  );
}
