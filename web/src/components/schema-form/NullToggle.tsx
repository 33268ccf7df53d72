// Null is a value of its own, other than leaving a field empty.
import { ToggleButton } from 'react-aria-components';

import { useWords } from '@/i18n/language';

import type { JsonValue } from './schema';
import css from './SchemaForm.module.css';
import { WORDS } from './words';

interface Props {
  label: string;
  isNull: boolean;
  isDisabled: boolean;
  onChange: (value: JsonValue | undefined) => void;
}

export function NullToggle({ label, isNull, isDisabled, onChange }: Props) {
  const t = useWords(WORDS);
  return (
    <ToggleButton
      aria-label={t.sendNull(label)} isSelected={isNull} isDisabled={isDisabled} className={css.null ?? ''}
      onChange={(isSelected) => onChange(isSelected ? null : undefined)}
    >
      {t.null}
    </ToggleButton>
  );
}
