// A field that fits the type of an argument; JSON for what fits no other.
import { useState } from 'react';

import { CodeEditor, pretty } from '@/components/Code';
import { NumberField, Select, Switch, TextField } from '@/components/Field';
import { useWords, words } from '@/i18n/language';

import type { Argument } from './arguments';
import css from './BindingDrawer.module.css';
import type { Given } from './bindings';

const WORDS = words(
  { value: (name: string) => `Value of ${name}`, yes: 'Yes', no: 'No', broken: 'This is not JSON yet.' },
  { value: (name: string) => `${name} 的值`, yes: '是', no: '否', broken: '还不是有效的 JSON。' },
);

export interface ValueFieldProps {
  argument: Argument;
  given: Given;
  onChange: (value: unknown, draft?: string) => void;
  isDisabled: boolean;
  error: string | undefined;
}

const LONG_TEXT = 60;
const SHORT_EDITOR = 64;

export function ValueField(props: ValueFieldProps) {
  const { argument, given, onChange, isDisabled, error } = props;
  const t = useWords(WORDS);
  const shared = { label: t.value(argument.name), isLabelHidden: true, isDisabled, error };
  const { value } = given;
  if (argument.kind === 'text' && typeof value === 'string') {
    const rows = value.length > LONG_TEXT || value.includes('\n') ? { rows: 4 } : {};
    return <TextField {...shared} {...rows} value={value} onChange={onChange} autoComplete="off" />;
  }
  const isNumeric = argument.kind === 'number' || argument.kind === 'integer';
  if (isNumeric && (typeof value === 'number' || value === undefined)) {
    const bounds = {
      ...(argument.minimum === undefined ? {} : { minimum: argument.minimum }),
      ...(argument.maximum === undefined ? {} : { maximum: argument.maximum }),
      ...(argument.kind === 'integer' ? { step: 1 } : {}),
    };
    return <NumberField {...shared} {...bounds} value={value} onChange={onChange} />;
  }
  if (argument.kind === 'boolean' && typeof value === 'boolean') {
    return <Switch label={value ? t.yes : t.no} isSelected={value} onChange={onChange} isDisabled={isDisabled} />;
  }
  if (argument.kind === 'choice' && argument.options.includes(value)) {
    // Choices may be numbers: what they are is kept beside how they are written.
    const options = argument.options.map((option) => ({ value: JSON.stringify(option), label: String(option) }));
    return <Select {...shared} options={options} value={JSON.stringify(value)} onChange={(next) => onChange(JSON.parse(next) as unknown)} />;
  }
  return <JsonField {...props} />;
}

function JsonField({ argument, given, onChange, isDisabled, error }: ValueFieldProps) {
  const t = useWords(WORDS);
  // What is typed stays as it was typed.
  const [text, setText] = useState(() => given.draft ?? (given.value === undefined ? '' : pretty(given.value)));
  const type = (next: string) => {
    setText(next);
    const read = readJson(next);
    if (read === undefined) onChange(undefined, next);
    else onChange(read.value);
  };
  const said = error ?? (given.draft !== undefined && given.draft.trim() !== '' ? t.broken : undefined);
  return (
    <div>
      <CodeEditor
        label={t.value(argument.name)} value={text} minHeight={SHORT_EDITOR} isInvalid={said !== undefined}
        {...(isDisabled ? {} : { onChange: type })}
      />
      {said !== undefined && <p className={css.error} role="alert">{said}</p>}
    </div>
  );
}

function readJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
