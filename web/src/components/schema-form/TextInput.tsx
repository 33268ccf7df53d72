// Text: a line, several lines, an address, a day or a time.
import { TextField } from '@/components/Field';
import { useWords } from '@/i18n/language';

import { frameOf, type InputProps } from './field';
import { textOf } from './schema';
import { labelOfValue, type TextInput as Kind } from './shape';
import { localTime, zonedTime } from './value';
import { WORDS } from './words';

export function TextInput({ input, isLong, ...props }: InputProps & { input: Kind; isLong: boolean }) {
  const t = useWords(WORDS);
  const { value, schema, onChange } = props;
  const text = value === undefined || value === null ? '' : labelOfValue(value);
  // The default is the placeholder: it counts as long as nothing is written.
  const preset = textOf(schema, 'default') ?? exampleOf(schema['examples']);
  const change = (next: string) => onChange(next === '' ? undefined : next);
  const shared = { ...frameOf(props), value: text, onChange: change, ...(preset === undefined ? {} : { placeholder: preset }) };
  if (isLong) return <TextField {...shared} rows={3} />;
  if (input === 'date-time') {
    const local = localTime(text);
    const about = <>{props.description} {t.yours}</>;
    // What the clock's field cannot show is edited as text.
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
