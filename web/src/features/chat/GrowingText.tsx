// A place to write that is as high as what is written. Enter is done, Shift and Enter a new line.
import { type ClipboardEvent, type KeyboardEvent, type Ref, useImperativeHandle, useLayoutEffect, useRef } from 'react';

import css from './Composer.module.css';

export interface GrowingTextProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  onEnter: () => void;
  onEscape?: () => void;
  onPaste?: (event: ClipboardEvent) => void;
  placeholder?: string;
  autoFocus?: boolean;
  ref?: Ref<HTMLTextAreaElement>;
}

export function GrowingText({ label, value, onChange, onEnter, onEscape, onPaste, placeholder, autoFocus = false, ref }: GrowingTextProps) {
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
    // While characters are put together, Enter belongs to that.
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Escape' && onEscape !== undefined) {
      event.preventDefault();
      onEscape();
    }
    if (event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    onEnter();
  };
  return (
    <textarea
      ref={field} aria-label={label} rows={1} value={value} placeholder={placeholder} className={css.text}
      onChange={(event) => onChange(event.target.value)} onKeyDown={press} onPaste={onPaste}
    />
  );
}
