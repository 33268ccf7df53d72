// A constant: shown as text if it is required, else as a checkbox that sends it.
import { Checkbox } from '@/components/Field';
import { useTexts } from '@/i18n/language';

import { ErrorText } from './ErrorText';
import type { InputProps } from './field';
import type { JsonValue } from './schema';
import css from './SchemaForm.module.css';
import { labelOfValue } from './shape';
import { TEXTS } from './texts';

export function ConstInput({ fixed, ...props }: InputProps & { fixed: JsonValue }) {
  const { label, aside, description, value, onChange, isRequired, isDisabled, error } = props;
  const t = useTexts(TEXTS);
  const text = labelOfValue(fixed);
  return (
    <>
      <div className={css.head}>
        <span className={css.label}>{label}</span>{aside}
      </div>
      {isRequired ? (
        <div className={css.fixed}><code>{text}</code><span className={css.limits}>{t.always}</span></div>
      ) : (
        <Checkbox
          label={t.send(text)} isSelected={value !== undefined} isDisabled={isDisabled}
          onChange={(isSelected) => onChange(isSelected ? fixed : undefined)}
        />
      )}
      {description !== null && <p className={css.about}>{description}</p>}
      <ErrorText error={error} />
    </>
  );
}
