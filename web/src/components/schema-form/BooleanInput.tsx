// A switch for a boolean. Until the user sets it, it shows the default and sends nothing.
import { X } from 'lucide-react';

import { IconButton } from '@/components/Button';
import { Switch } from '@/components/Field';
import { useTexts } from '@/i18n/language';

import type { InputProps } from './field';
import { ErrorText } from './ErrorText';
import css from './SchemaForm.module.css';
import { TEXTS } from './texts';

export function BooleanInput(props: InputProps) {
  const { label, isLabelHidden, aside, description, schema, value, onChange, isRequired, isDisabled, error } = props;
  const t = useTexts(TEXTS);
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
      <ErrorText error={error} />
    </>
  );
}
