// Commits the focused field before a keyboard shortcut saves or runs: number and name fields commit on blur
// only.

/** Makes the focused field commit its value, and keeps the focus in it. */
export function finishField(at: EventTarget | null): void {
  if (!(at instanceof HTMLInputElement)) return;
  at.blur();
  at.focus();
}
