// A select for the values of an `enum`.
import { Select } from '@/components/Field';
import { useTexts } from '@/i18n/language';

import { frameOf, type InputProps } from './field';
import { isSame, type JsonValue } from './schema';
import { type ChoiceOption, labelOfValue } from './shape';
import { TEXTS } from './texts';

const NOTHING = '';

export function ChoiceInput({ options, ...props }: InputProps & { options: readonly ChoiceOption[] }) {
  const t = useTexts(TEXTS);
  const { value, schema, onChange, isRequired } = props;
  const chosen = options.findIndex((option) => value !== undefined && isSame(option.value, value));
  const preset = schema['default'] as JsonValue | undefined;
  // The empty option shows the default.
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
