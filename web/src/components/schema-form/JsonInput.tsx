// A JSON editor for values without a specific input. Text that is not valid JSON is reported and not sent.
import { useEffect, useState } from 'react';

import { CodeEditor, pretty } from '@/components/Code';
import { useTexts } from '@/i18n/language';

import { ErrorText } from './ErrorText';
import { useForm } from './context';
import type { InputProps } from './field';
import { isSame, type JsonValue } from './schema';
import css from './SchemaForm.module.css';
import { TEXTS } from './texts';

function read(text: string): { value: JsonValue | undefined } | { why: string } {
  if (text.trim() === '') return { value: undefined };
  try {
    return { value: JSON.parse(text) as JsonValue };
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

export function JsonInput({ label, isLabelHidden, aside, description, schema, path, value, onChange, isRequired, isDisabled, error }: InputProps) {
  const t = useTexts(TEXTS);
  const { setBroken } = useForm();
  const [text, setText] = useState(() => (value === undefined ? '' : pretty(value)));
  const [given, setGiven] = useState(value);
  // The value was changed outside this editor: replace the text.
  if (!isSame(given, value)) {
    setGiven(value);
    setText(value === undefined ? '' : pretty(value));
  }
  const found = read(text);
  const why = 'why' in found ? found.why : undefined;
  const isBroken = why !== undefined;
  useEffect(() => {
    if (!isBroken) return undefined;
    setBroken(path, true);
    return () => setBroken(path, false);
  }, [isBroken, path, setBroken]);
  const change = (next: string) => {
    setText(next);
    const now = read(next);
    if ('why' in now) return;
    setGiven(now.value);
    onChange(now.value);
  };
  return (
    <>
      <div className={css.head}>
        {!isLabelHidden && <span className={css.label}>{label}{isRequired && <span className={css.required} aria-hidden> *</span>}</span>}
        {aside}
        <span className={css.limits}>{t.asJson}</span>
      </div>
      <CodeEditor
        label={label} value={text} minHeight={64} isInvalid={isBroken || error !== undefined}
        {...(isDisabled ? {} : { onChange: change })} {...('default' in schema ? { placeholder: pretty(schema['default']) } : {})}
      />
      {description !== null && <p className={css.about}>{description}</p>}
      <ErrorText error={isBroken ? t.badJson(why) : error} />
    </>
  );
}
