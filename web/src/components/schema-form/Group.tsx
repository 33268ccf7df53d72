// A labeled group of fields. An optional group is collapsed until it has a value or an error.
import { ChevronRight, X } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';
import { Button } from 'react-aria-components';

import { IconButton } from '@/components/Button';
import { useTexts } from '@/i18n/language';

import { ErrorText } from './ErrorText';
import { useForm } from './context';
import { hasErrorWithin } from './errors';
import type { InputProps } from './field';
import css from './SchemaForm.module.css';
import { TEXTS } from './texts';

export function Group({ children, ...props }: Omit<InputProps, 'schema' | 'depth'> & { children: ReactNode }) {
  const { label, isLabelHidden, aside, description, path, value, onChange, isRequired, isDisabled, error } = props;
  const t = useTexts(TEXTS);
  const form = useForm();
  const { errors } = form;
  const [isOpen, setIsOpen] = useState(isRequired || value !== undefined);
  const [seen, setSeen] = useState(errors);
  const title = useId();
  const body = useId();
  // Expands the group when new errors are inside it.
  if (seen !== errors) {
    setSeen(errors);
    if (hasErrorWithin(errors, path)) setIsOpen(true);
  }
  // A null value has no fields to show.
  const isNull = isDisabled && !form.isDisabled;
  const isShown = (isOpen || isRequired) && !isNull;
  const name = <>{label}{isRequired && <span className={css.required} aria-hidden> *</span>}</>;
  return (
    <div role="group" aria-labelledby={title} className={css.group}>
      <div className={isLabelHidden ? 'hidden' : css.head}>
        {isRequired ? <span id={title} className={css.label}>{name}</span> : (
          <Button id={title} className={css.fold ?? ''} aria-expanded={isShown} aria-controls={body} onPress={() => setIsOpen(!isOpen)}>
            <ChevronRight aria-hidden size={15} className={isShown ? css.turned : ''} />{name}
          </Button>
        )}
        {aside}
        {!isRequired && value !== undefined && !isDisabled && (
          <span className={css.clear}>
            <IconButton label={t.clear(label)} onPress={() => onChange(undefined)}><X aria-hidden /></IconButton>
          </span>
        )}
      </div>
      {description !== null && <p className={css.about}>{description}</p>}
      <ErrorText error={error} />
      <div id={body} className={isLabelHidden ? css.flat : css.inner} hidden={!isShown}>{isShown && children}</div>
    </div>
  );
}
