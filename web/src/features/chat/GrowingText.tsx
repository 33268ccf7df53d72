// A place to write that is as high as what is written. Where there are keys, Enter is done, Shift and Enter a new line.
import { type ClipboardEvent, type KeyboardEvent, type Ref, useImperativeHandle, useLayoutEffect, useRef } from 'react';

import css from './Composer.module.css';
import { meaningOf } from './enter';
import { HAS_KEYS } from './hasKeys';

export interface GrowingTextProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  onEnter: () => void;
  onEscape?: () => void;
  onPaste?: (event: ClipboardEvent) => void;
  placeholder?: string;
  autoFocus?: boolean;
  /** The id of what is said about it. */
  describedBy?: string | undefined;
  ref?: Ref<HTMLTextAreaElement>;
}

export function GrowingText({ label, value, onChange, onEnter, onEscape, onPaste, placeholder, autoFocus = false, describedBy, ref }: GrowingTextProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  useImperativeHandle<HTMLTextAreaElement | null, HTMLTextAreaElement | null>(ref, () => field.current, []);
  useLayoutEffect(() => {
    const place = field.current;
    if (place === null) return;
    place.style.height = 'auto';
    place.style.height = `${place.scrollHeight}px`;
  }, [value]);
  useLayoutEffect(() => {
    const place = field.current;
    if (!autoFocus || place === null) return;
    place.focus();
    place.setSelectionRange(place.value.length, place.value.length);
  }, [autoFocus]);
  const press = (event: KeyboardEvent) => {
    const meant = meaningOf(event.nativeEvent, HAS_KEYS);
    const act = meant === 'send' ? onEnter : meant === 'leave' ? onEscape : undefined;
    if (act === undefined) return;
    event.preventDefault();
    act();
  };
  return (
    <textarea
      ref={field} aria-label={label} aria-describedby={describedBy} enterKeyHint={HAS_KEYS ? 'send' : 'enter'} rows={1} value={value} placeholder={placeholder} className={css.text}
      onChange={(event) => onChange(event.target.value)} onKeyDown={press} onPaste={onPaste}
    />
  );
}
