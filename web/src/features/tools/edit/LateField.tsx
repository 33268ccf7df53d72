// A field whose text counts when one is done with it: on leaving, or with Enter.
import { type KeyboardEvent, useState } from 'react';

import { TextField, type TextFieldProps } from '@/components/Field';

export function LateField({ value, onChange, ...rest }: TextFieldProps) {
  const [typed, setTyped] = useState(value);
  const [known, setKnown] = useState(value);
  if (known !== value) {
    setKnown(value);
    setTyped(value);
  }
  const done = () => {
    if (typed !== value) onChange(typed);
  };
  const byKeys = (event: KeyboardEvent) => {
    // That Enter takes a word of the input method.
    if (event.key !== 'Enter' || event.nativeEvent.isComposing) return;
    event.preventDefault();
    done();
  };
  return (
    <div onKeyDownCapture={byKeys}>
      <TextField {...rest} value={typed} onChange={setTyped} onBlur={done} />
    </div>
  );
}
