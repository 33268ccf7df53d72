// The only value there is: shown as it is when it must be there, else to be sent or not.
import { Checkbox } from '@/components/Field';
import { useWords } from '@/i18n/language';

import { Complaint } from './Complaint';
import type { InputProps } from './field';
import type { JsonValue } from './schema';
import css from './SchemaForm.module.css';
import { labelOfValue } from './shape';
import { WORDS } from './words';

export function ConstInput({ fixed, ...props }: InputProps & { fixed: JsonValue }) {
  const { label, aside, description, value, onChange, isRequired, isDisabled, error } = props;
  const t = useWords(WORDS);
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
      <Complaint error={error} />
    </>
  );
}
