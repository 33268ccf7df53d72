// Yes or no. Untouched it shows its default and is not sent; touched it is sent either way, until it is cleared.
import { X } from 'lucide-react';

import { IconButton } from '@/components/Button';
import { Switch } from '@/components/Field';
import { useWords } from '@/i18n/language';

import type { InputProps } from './field';
import { Complaint } from './Complaint';
import css from './SchemaForm.module.css';
import { WORDS } from './words';

export function BooleanInput(props: InputProps) {
  const { label, isLabelHidden, aside, description, schema, value, onChange, isRequired, isDisabled, error } = props;
  const t = useWords(WORDS);
  const preset = schema['default'] === true;
  const isSet = typeof value === 'boolean';
  return (
    <>
      <div className={css.switch}>
        <Switch
          label={label} isLabelHidden={isLabelHidden} isSelected={isSet ? value : preset} isDisabled={isDisabled} onChange={onChange}
          {...(description === null ? {} : { description })}
        />
        {isRequired && !isLabelHidden && <span className={css.required} aria-hidden>*</span>}
        {aside}
        {isSet ? (
          !isRequired && !isDisabled && <IconButton label={t.clear(label)} onPress={() => onChange(undefined)}><X aria-hidden /></IconButton>
        ) : (
          <span className={css.limits}>{'default' in schema ? t.isDefault : t.notSet}</span>
        )}
      </div>
      <Complaint error={error} />
    </>
  );
}
