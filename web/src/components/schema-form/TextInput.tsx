// A text field: one line, several lines, e-mail, URL, date or time.
import { TextField } from '@/components/Field';
import { useTexts } from '@/i18n/language';

import { frameOf, type InputProps } from './field';
import { textOf } from './schema';
import { labelOfValue, type TextInput as Kind } from './shape';
import { localTime, zonedTime } from './value';
import { TEXTS } from './texts';

export function TextInput({ input, isLong, ...props }: InputProps & { input: Kind; isLong: boolean }) {
  const t = useTexts(TEXTS);
  const { value, schema, onChange } = props;
  const text = value === undefined || value === null ? '' : labelOfValue(value);
  // The server applies the default while the field is empty.
  const preset = textOf(schema, 'default') ?? exampleOf(schema['examples']);
  const change = (next: string) => onChange(next === '' ? undefined : next);
  const shared = { ...frameOf(props), value: text, onChange: change, ...(preset === undefined ? {} : { placeholder: preset }) };
  if (isLong) return <TextField {...shared} rows={3} />;
  if (input === 'date-time') {
    const local = localTime(text);
    const about = <>{props.description} {t.yours}</>;
    // Values that a date-time input cannot show are edited as text.
    if (local !== null) {
      return <TextField {...shared} description={about} type="datetime-local" value={local} onChange={(next) => onChange(zonedTime(next))} />;
    }
  }
  return <TextField {...shared} type={input === 'date-time' ? 'text' : input} />;
}

function exampleOf(examples: unknown): string | undefined {
  const first: unknown = Array.isArray(examples) ? examples[0] : undefined;
  return typeof first === 'string' ? first : undefined;
}
