// The `tool_choice` setting of the model API.
import { Select } from '@/components/Field';
import { useTexts, texts } from '@/i18n/language';

import type { BindingDraftList } from './bindings';
import type { Config } from './draft';

const TEXTS = texts(
  {
    label: 'Tool choice', own: 'Model default', auto: 'The model decides', none: 'No tools', required: 'Always a tool',
    one: (name: string) => `Always ${name}`, other: 'Set through the API',
  },
  {
    label: '工具选择', own: '模型默认', auto: '由模型决定', none: '不使用工具', required: '必须使用工具',
    one: (name: string) => `必须使用 ${name}`, other: '通过 API 设置',
  },
);

type Choice = Config['toolChoice'];

const PLAIN = ['auto', 'none', 'required'] as const;
const MODEL_DEFAULT = 'own';
const OTHER = 'other';
const ONE = 'one:';
/** Maximum number of tools in the list. */
const MAX_TOOLS = 64;

export interface ToolChoiceFieldProps {
  value: Choice;
  tools: BindingDraftList;
  onChange: (value: Choice) => void;
  isDisabled: boolean;
  error: string | undefined;
}

export function ToolChoiceField({ value, tools, onChange, isDisabled, error }: ToolChoiceFieldProps) {
  const t = useTexts(TEXTS);
  const named = tools.slice(0, MAX_TOOLS).flatMap((tool) => (tool.name === null ? [] : [tool.name]));
  const key = keyOf(value);
  const options = [
    { value: MODEL_DEFAULT, label: t.own },
    ...PLAIN.map((plain) => ({ value: plain, label: t[plain] })),
    ...named.map((name) => ({ value: ONE + name, label: t.one(name) })),
  ];
  // A value that is not in the list is shown and kept until the user selects another one.
  if (!options.some((option) => option.value === key)) {
    options.push({ value: key, label: key.startsWith(ONE) ? t.one(key.slice(ONE.length)) : t.other });
  }
  const choose = (next: string) => {
    if (next !== key) onChange(choiceOf(next));
  };
  return <Select label={t.label} value={key} options={options} onChange={choose} isDisabled={isDisabled} error={error} />;
}

function keyOf(choice: Choice): string {
  if (choice === null) return MODEL_DEFAULT;
  if (typeof choice === 'string') return choice;
  const { function: one }: { function?: unknown } = choice;
  const isNamed = typeof one === 'object' && one !== null && 'name' in one && typeof one.name === 'string';
  return isNamed ? ONE + String(one.name) : OTHER;
}

function choiceOf(key: string): Choice {
  if (key === MODEL_DEFAULT) return null;
  if (!key.startsWith(ONE)) return key;
  const choice: Record<string, unknown> = { type: 'function', function: { name: key.slice(ONE.length) } };
  return choice as Exclude<Choice, string | null>;
}
