// What a key means where one writes a message.
interface Pressed {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  isComposing: boolean;
  /** The only sign that Safari gives of the Enter that ends putting characters together. */
  keyCode: number;
}

const COMPOSING = 229;

/** `hasKeys`: Enter sends where there is a keyboard. On glass it begins a new line, and the button sends. */
export function meaningOf({ key, shiftKey, ctrlKey, metaKey, isComposing, keyCode }: Pressed, hasKeys: boolean): 'send' | 'leave' | undefined {
  // While characters are put together, keys belong to that.
  if (isComposing || keyCode === COMPOSING) return undefined;
  if (key === 'Escape') return 'leave';
  if (key !== 'Enter' || shiftKey) return undefined;
  return hasKeys || ctrlKey || metaKey ? 'send' : undefined;
}
