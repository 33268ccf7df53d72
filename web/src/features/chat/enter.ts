// The meaning of a key in the message field.
interface Pressed {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  isComposing: boolean;
  /** In Safari the only sign that Enter ended an IME composition. */
  keyCode: number;
}

const COMPOSING = 229;

/** With a keyboard (`hasKeyboard`) Enter sends. On a touch screen it starts a new line, and the button sends. */
export function keyAction({ key, shiftKey, ctrlKey, metaKey, isComposing, keyCode }: Pressed, hasKeyboard: boolean): 'send' | 'leave' | undefined {
  // During an IME composition keys belong to the input method.
  if (isComposing || keyCode === COMPOSING) return undefined;
  if (key === 'Escape') return 'leave';
  if (key !== 'Enter' || shiftKey) return undefined;
  return hasKeyboard || ctrlKey || metaKey ? 'send' : undefined;
}
