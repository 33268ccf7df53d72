// A text field that reports its value on blur or Enter instead of on each keystroke.
import { type KeyboardEvent, useState } from 'react';

import { TextField, type TextFieldProps } from '@/components/Field';

export function CommitField({ value, onChange, ...rest }: TextFieldProps) {
  const [typed, setTyped] = useState(value);
  const [lastValue, setLastValue] = useState(value);
  if (lastValue !== value) {
    setLastValue(value);
    setTyped(value);
  }
  const commit = () => {
    if (typed !== value) onChange(typed);
  };
  const byKeys = (event: KeyboardEvent) => {
    // This Enter confirms a word of the input method editor.
    if (event.key !== 'Enter' || event.nativeEvent.isComposing) return;
    event.preventDefault();
    commit();
  };
  return (
    <div onKeyDownCapture={byKeys}>
      <TextField {...rest} value={typed} onChange={setTyped} onBlur={commit} />
    </div>
  );
}
