// The input for the value of an argument, by its type. Other types are edited as JSON.
import { useState } from 'react';

import { CodeEditor, pretty } from '@/components/Code';
import { NumberField, Select, Switch, TextField } from '@/components/Field';
import { useTexts, texts } from '@/i18n/language';

import type { Argument } from './arguments';
import css from './BindingDrawer.module.css';
import type { ArgumentValue } from './bindings';

const TEXTS = texts(
  { value: (name: string) => `Value of ${name}`, yes: 'Yes', no: 'No', broken: 'This is not valid JSON.' },
  { value: (name: string) => `${name} 的值`, yes: '是', no: '否', broken: '还不是有效的 JSON。' },
);

export interface ValueFieldProps {
  argument: Argument;
  current: ArgumentValue;
  onChange: (value: unknown, draft?: string) => void;
  isDisabled: boolean;
  error: string | undefined;
}

const LONG_TEXT = 60;
const SHORT_EDITOR = 64;

export function ValueField(props: ValueFieldProps) {
  const { argument, current, onChange, isDisabled, error } = props;
  const t = useTexts(TEXTS);
  const shared = { label: t.value(argument.name), isLabelHidden: true, isDisabled, error };
  const { value } = current;
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
    // Options are serialized as JSON to keep their types, such as numbers.
    const options = argument.options.map((option) => ({ value: JSON.stringify(option), label: String(option) }));
    return <Select {...shared} options={options} value={JSON.stringify(value)} onChange={(next) => onChange(JSON.parse(next) as unknown)} />;
  }
  return <JsonField {...props} />;
}

function JsonField({ argument, current, onChange, isDisabled, error }: ValueFieldProps) {
  const t = useTexts(TEXTS);
  // The text is kept exactly as typed, even if it is not valid JSON.
  const [text, setText] = useState(() => current.draft ?? (current.value === undefined ? '' : pretty(current.value)));
  const type = (next: string) => {
    setText(next);
    const read = readJson(next);
    if (read === undefined) onChange(undefined, next);
    else onChange(read.value);
  };
  const message = error ?? (current.draft !== undefined && current.draft.trim() !== '' ? t.broken : undefined);
  return (
    <div>
      <CodeEditor
        label={t.value(argument.name)} value={text} minHeight={SHORT_EDITOR} isInvalid={message !== undefined}
        {...(isDisabled ? {} : { onChange: type })}
      />
      {message !== undefined && <p className={css.error} role="alert">{message}</p>}
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
