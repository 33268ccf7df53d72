// A form in a dialog or page: fields, server error, and buttons.
import { type ReactNode, type SyntheticEvent, useEffect, useRef } from 'react';

import { Button } from '@/components/Button';
import { DialogFooter } from '@/components/Dialog';
import { ErrorNote } from '@/components/Note';
import { useTexts } from '@/i18n/language';

import { COMMON } from '../texts';
import type { Failures } from './failures';
import css from './parts.module.css';

export interface FormProps {
  /** The label of the submit button. */
  verb: string;
  failed: Failures;
  /** The last error. A new error object moves the focus to the first invalid field. */
  error: unknown;
  isPending: boolean;
  isDisabled?: boolean;
  onSubmit: () => void;
  /** Without it the form is part of a page and has one button only. */
  onCancel?: () => void;
  children: ReactNode;
}

export function Form({ verb, failed, error, isPending, isDisabled = false, onSubmit, onCancel, children }: FormProps) {
  const t = useTexts(COMMON);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (error !== null && error !== undefined) firstInvalid(form.current)?.focus();
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

/** The first invalid field. */
function firstInvalid(form: HTMLFormElement | null): HTMLElement | null | undefined {
  return form?.querySelector<HTMLElement>('[aria-invalid="true"], [data-invalid] button');
}
