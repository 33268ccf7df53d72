// A text area as high as its text. With a keyboard, Enter submits and Shift+Enter starts a new line.
import { type ClipboardEvent, type KeyboardEvent, type Ref, useImperativeHandle, useLayoutEffect, useRef } from 'react';

import css from './Composer.module.css';
import { keyAction } from './enter';
import { HAS_KEYBOARD } from './hasKeyboard';

export interface GrowingTextProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  onEnter: () => void;
  onEscape?: () => void;
  onPaste?: (event: ClipboardEvent) => void;
  placeholder?: string;
  autoFocus?: boolean;
  /** The id of its description. */
  describedBy?: string | undefined;
  ref?: Ref<HTMLTextAreaElement>;
}

export function GrowingText({ label, value, onChange, onEnter, onEscape, onPaste, placeholder, autoFocus = false, describedBy, ref }: GrowingTextProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  useImperativeHandle<HTMLTextAreaElement | null, HTMLTextAreaElement | null>(ref, () => field.current, []);
  useLayoutEffect(() => {
    const element = field.current;
    if (element === null) return;
    element.style.height = 'auto';
    element.style.height = `${element.scrollHeight}px`;
  }, [value]);
  useLayoutEffect(() => {
    const element = field.current;
    if (!autoFocus || element === null) return;
    element.focus();
    element.setSelectionRange(element.value.length, element.value.length);
  }, [autoFocus]);
  const press = (event: KeyboardEvent) => {
    const action = keyAction(event.nativeEvent, HAS_KEYBOARD);
    const act = action === 'send' ? onEnter : action === 'leave' ? onEscape : undefined;
    if (act === undefined) return;
    event.preventDefault();
    act();
  };
  return (
    <textarea
      ref={field} aria-label={label} aria-describedby={describedBy} enterKeyHint={HAS_KEYBOARD ? 'send' : 'enter'} rows={1} value={value} placeholder={placeholder} className={css.text}
      onChange={(event) => onChange(event.target.value)} onKeyDown={press} onPaste={onPaste}
    />
  );
}
