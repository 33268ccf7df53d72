// One argument of a binding: its source (model, default or fixed), and its value.
import { useMay } from '@/api/me';
import { Badge } from '@/components/Note';
import { Segmented } from '@/components/Segmented';
import { useTexts, texts } from '@/i18n/language';

import type { Argument } from './arguments';
import css from './BindingDrawer.module.css';
import { type BindingDraft, setMode, setValue, valueOf, type ArgumentMode, modeOf } from './bindings';
import { ValueField } from './ValueField';

const TEXTS = texts(
  {
    who: (name: string) => `Who decides ${name}`, model: 'Model decides', default: 'Default', fixed: 'Fixed', required: 'required',
    text: 'text', number: 'number', integer: 'whole number', boolean: 'yes or no', choice: 'choice', json: 'JSON',
    unknown: 'No longer an argument',
  },
  {
    who: (name: string) => `由谁决定 ${name}`, model: '模型决定', default: '默认值', fixed: '固定值', required: '必填',
    text: '文本', number: '数字', integer: '整数', boolean: '是或否', choice: '选项', json: 'JSON',
    unknown: '已不是参数',
  },
);

const MODES: readonly ArgumentMode[] = ['model', 'default', 'fixed'];

export interface ArgumentRowProps {
  argument: Argument;
  binding: BindingDraft;
  replace: (binding: BindingDraft) => void;
  error: string | undefined;
}

export function ArgumentRow({ argument, binding, replace, error }: ArgumentRowProps) {
  const t = useTexts(TEXTS);
  const mayEdit = useMay('editor');
  const current = valueOf(binding, argument.name);
  return (
    <li className={css.argument}>
      <div className={css.head}>
        <div className={css.name}>
          <code>{argument.name}</code>
          <span className={css.kind}>{t[argument.kind]}</span>
          {argument.isRequired && <Badge>{t.required}</Badge>}
          {argument.isUnknown && <Badge tone="warn">{t.unknown}</Badge>}
        </div>
        <Segmented
          label={t.who(argument.name)} value={modeOf(binding, argument.name)} options={MODES.map((mode) => ({ value: mode, label: t[mode] }))} isDisabled={!mayEdit}
          onChange={(mode) => replace(setMode(binding, argument.name, mode, firstValue(argument)))}
        />
      </div>
      {argument.description !== '' && <p className={css.what}>{argument.description}</p>}
      {current !== undefined && (
        <ValueField
          argument={argument} current={current} error={error} isDisabled={!mayEdit}
          onChange={(value, draft) => replace(setValue(binding, argument.name, value, draft))}
        />
      )}
    </li>
  );
}

/** Returns the initial value of a default or fixed argument, or `undefined` if the user has to enter one. */
function firstValue(argument: Argument): unknown {
  if (argument.initial !== undefined) return argument.initial;
  switch (argument.kind) {
    case 'text': return '';
    case 'boolean': return false;
    case 'choice': return argument.options[0];
    default: return undefined;
  }
}
