// One of the values that are allowed.
import { Select } from '@/components/Field';
import { useWords } from '@/i18n/language';

import { frameOf, type InputProps } from './field';
import { isSame, type JsonValue } from './schema';
import { type ChoiceOption, labelOfValue } from './shape';
import { WORDS } from './words';

const NOTHING = '';

export function ChoiceInput({ options, ...props }: InputProps & { options: readonly ChoiceOption[] }) {
  const t = useWords(WORDS);
  const { value, schema, onChange, isRequired } = props;
  const chosen = options.findIndex((option) => value !== undefined && isSame(option.value, value));
  const preset = schema['default'] as JsonValue | undefined;
  // The default is said where nothing is chosen.
  const empty = preset === undefined ? t.notSet : t.byDefault(labelOfValue(preset));
  const all = options.map((option, index) => ({ ...option, value: String(index) }));
  return (
    <Select
      {...frameOf(props)} placeholder={isRequired && preset === undefined ? t.choose : empty}
      value={chosen === -1 ? null : String(chosen)}
      options={isRequired ? all : [{ value: NOTHING, label: empty }, ...all]}
      onChange={(key) => onChange(key === NOTHING ? undefined : options[Number(key)]?.value)}
    />
  );
}
