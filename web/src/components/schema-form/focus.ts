// Brings whoever fills a form to what is wrong first.
const FOCUSABLE = 'input:not(:disabled), textarea:not(:disabled), button:not(:disabled), [contenteditable="true"]';

/** Whether there was a field to go to. */
export function focusFirstWrong(form: HTMLElement): boolean {
  const wrong = form.querySelector<HTMLElement>('[data-wrong]');
  if (wrong === null) return false;
  const found = wrong.querySelector<HTMLElement>('[aria-invalid="true"]:not(:disabled)')
    ?? [...wrong.querySelectorAll<HTMLElement>(FOCUSABLE)].find((one) => one.tabIndex >= 0 && one.offsetParent !== null);
  found?.focus();
  wrong.scrollIntoView({ block: 'nearest' });
  return found !== undefined;
}
