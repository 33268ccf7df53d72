// Moves the focus to the first invalid field of a form.
const FOCUSABLE = 'input:not(:disabled), textarea:not(:disabled), button:not(:disabled), [contenteditable="true"]';

/** Returns false if there is no invalid field that can take the focus. */
export function focusFirstInvalid(form: HTMLElement): boolean {
  const invalid = form.querySelector<HTMLElement>('[data-error]');
  if (invalid === null) return false;
  const found = invalid.querySelector<HTMLElement>('[aria-invalid="true"]:not(:disabled)')
    ?? [...invalid.querySelectorAll<HTMLElement>(FOCUSABLE)].find((one) => one.tabIndex >= 0 && one.offsetParent !== null);
  found?.focus();
  invalid.scrollIntoView({ block: 'nearest' });
  return found !== undefined;
}
