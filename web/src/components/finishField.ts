// A number, and a name that others depend on, count when their field is left. A key that saves or runs comes before that.

/** Lets the field that is written in give what it holds; one stays in it. */
export function finishField(at: EventTarget | null): void {
  if (!(at instanceof HTMLInputElement)) return;
  at.blur();
  at.focus();
}
