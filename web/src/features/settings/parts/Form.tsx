// A form in a dialog: its fields, what the server said, and the two ways out.
import { type ReactNode, type SyntheticEvent, useEffect, useRef } from 'react';

import { Button } from '@/components/Button';
import { DialogFooter } from '@/components/Dialog';
import { ErrorNote } from '@/components/Note';
import { useWords } from '@/i18n/language';

import { COMMON } from '../words';
import type { Failures } from './failures';
import css from './parts.module.css';

export interface FormProps {
  /** The verb of the button. */
  verb: string;
  failed: Failures;
  /** Counts tries, so that the focus goes to what is wrong after each. */
  error: unknown;
  isPending: boolean;
  isDisabled?: boolean;
  onSubmit: () => void;
  /** Without it the form stands in a page and has one button. */
  onCancel?: () => void;
  children: ReactNode;
}

export function Form({ verb, failed, error, isPending, isDisabled = false, onSubmit, onCancel, children }: FormProps) {
  const t = useWords(COMMON);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (error !== null && error !== undefined) wrongIn(form.current)?.focus();
  }, [error]);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!isPending && !isDisabled) onSubmit();
  };
  const submitButton = <Button type="submit" look="primary" isPending={isPending} isDisabled={isDisabled}>{verb}</Button>;
  return (
    <form ref={form} onSubmit={submit} className={css.form} noValidate>
      {children}
      {failed.rest !== undefined && <ErrorNote>{failed.rest}</ErrorNote>}
      {onCancel === undefined
        ? <div>{submitButton}</div>
        : <DialogFooter><Button onPress={onCancel}>{t.cancel}</Button>{submitButton}</DialogFooter>}
    </form>
  );
}

/** The first field that is wrong. */
function wrongIn(form: HTMLFormElement | null): HTMLElement | null | undefined {
  return form?.querySelector<HTMLElement>('[aria-invalid="true"], [data-invalid] button');
}
