// Whether the model must call a tool: as its API takes it.
import { Select } from '@/components/Field';
import { useWords, words } from '@/i18n/language';

import type { BoundList } from './bindings';
import type { Config } from './draft';

const WORDS = words(
  {
    label: 'Tool choice', own: 'Model’s own', auto: 'The model decides', none: 'No tools', required: 'Always some tool',
    one: (name: string) => `Always ${name}`, other: 'Set through the API',
  },
  {
    label: '工具选择', own: '模型默认', auto: '由模型决定', none: '不使用工具', required: '必须使用工具',
    one: (name: string) => `必须使用 ${name}`, other: '通过 API 设置',
  },
);

type Choice = Config['toolChoice'];

const PLAIN = ['auto', 'none', 'required'] as const;
const OWN = 'own';
const OTHER = 'other';
const ONE = 'one:';
/** Nobody looks through more in a list. */
const MOST_TOOLS = 64;

export interface ToolChoiceFieldProps {
  value: Choice;
  tools: BoundList;
  onChange: (value: Choice) => void;
  isDisabled: boolean;
  error: string | undefined;
}

export function ToolChoiceField({ value, tools, onChange, isDisabled, error }: ToolChoiceFieldProps) {
  const t = useWords(WORDS);
  const named = tools.slice(0, MOST_TOOLS).flatMap((tool) => (tool.name === null ? [] : [tool.name]));
  const key = keyOf(value);
  const options = [
    { value: OWN, label: t.own },
    ...PLAIN.map((plain) => ({ value: plain, label: t[plain] })),
    ...named.map((name) => ({ value: ONE + name, label: t.one(name) })),
  ];
  // What this list does not know is shown, and stays unless another is chosen.
  if (!options.some((option) => option.value === key)) {
    options.push({ value: key, label: key.startsWith(ONE) ? t.one(key.slice(ONE.length)) : t.other });
  }
  const choose = (next: string) => {
    if (next !== key) onChange(choiceOf(next));
  };
  return <Select label={t.label} value={key} options={options} onChange={choose} isDisabled={isDisabled} error={error} />;
}

function keyOf(choice: Choice): string {
  if (choice === null) return OWN;
  if (typeof choice === 'string') return choice;
  const { function: one }: { function?: unknown } = choice;
  const isNamed = typeof one === 'object' && one !== null && 'name' in one && typeof one.name === 'string';
  return isNamed ? ONE + String(one.name) : OTHER;
}

function choiceOf(key: string): Choice {
  if (key === OWN) return null;
  if (!key.startsWith(ONE)) return key;
  const choice: Record<string, unknown> = { type: 'function', function: { name: key.slice(ONE.length) } };
  return choice as Exclude<Choice, string | null>;
}
