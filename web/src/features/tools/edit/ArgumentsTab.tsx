// The Arguments tab: a schema generated from the variables, or written by the user.
import { Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';

import type { Violation } from '@/api/client';
import { Button, IconButton } from '@/components/Button';
import { CodeEditor } from '@/components/Code';
import { Checkbox, type Option, Select, Switch, TextField } from '@/components/Field';
import { ErrorNote, Hint } from '@/components/Note';
import { useTexts, texts } from '@/i18n/language';

import { addArgument, type Argument, ARGUMENT_TYPES, argumentsOf, changeArgument, isListable, removeArgument, renameArgument } from './arguments';
import list from './ArgumentsTab.module.css';
import type { SchemaDraft } from './draft';
import css from './Editor.module.css';
import { type Fields, parseJson, formatJson } from './json';
import { CommitField } from './CommitField';
import type { Change } from './useDraft';
import { messageAt } from './violations';

const TEXTS = texts(
  {
    own: 'Describe the arguments myself', ownHint: 'Otherwise each {{variable}} is a text, and those in the path are required. Describe them to use numbers, defaults and better descriptions for the model.',
    name: 'Name', type: 'Type', description: 'Description', fallback: 'Default', required: 'Required', add: 'Add argument', remove: (name: string) => `Remove ${name}`,
    string: 'text', number: 'number', integer: 'whole number', boolean: 'yes or no', array: 'list', object: 'object', other: 'as in the JSON',
    asJson: 'Edit as JSON Schema', schema: 'JSON Schema', notListable: 'This schema cannot be shown as a list. Edit it as JSON.', each: (name: string) => `Argument ${name}`,
  },
  {
    own: '自行描述参数', ownHint: '否则每个 {{变量}} 都是文本，路径中的变量必填。自行描述可指定数字、默认值，并给模型更好的提示。',
    name: '名称', type: '类型', description: '说明', fallback: '默认值', required: '必填', add: '添加参数', remove: (name: string) => `删除 ${name}`,
    string: '文本', number: '数字', integer: '整数', boolean: '是或否', array: '列表', object: '对象', other: '见 JSON',
    asJson: '以 JSON Schema 编辑', schema: 'JSON Schema', notListable: '该结构超出列表所能展示的范围，请以 JSON 编辑。', each: (name: string) => `参数 ${name}`,
  },
);

const EMPTY: Fields = { type: 'object', properties: {}, required: [], additionalProperties: false };

export interface ArgumentsTabProps {
  schema: SchemaDraft;
  /** The generated schema, as the initial value. */
  generated: unknown;
  violations: readonly Violation[];
  change: Change;
}

export function ArgumentsTab({ schema, generated, violations, change }: ArgumentsTabProps) {
  const t = useTexts(TEXTS);
  const [isRaw, setIsRaw] = useState(false);
  const value = parseJson(schema.text)?.value;
  const error = messageAt(violations, 'inputSchema');
  const choose = (isOwn: boolean) => change('schema', { isOwn, text: schema.text === '' ? formatJson(generated ?? EMPTY) : schema.text });
  const isList = isListable(value) && !isRaw;
  return (
    <div className={css.stack}>
      <Switch label={t.own} description={t.ownHint} isSelected={schema.isOwn} onChange={choose} />
      {schema.isOwn && (
        <>
          {isList && <List schema={value} onChange={(next) => change('schema', { text: formatJson(next) })} />}
          {!isList && !isRaw && <Hint>{t.notListable}</Hint>}
          {!isList && <CodeEditor label={t.schema} value={schema.text} onChange={(text) => change('schema', { text })} isInvalid={error !== undefined} />}
          {error !== undefined && <ErrorNote>{error}</ErrorNote>}
          <Switch label={t.asJson} isSelected={isRaw || !isListable(value)} isDisabled={!isListable(value)} onChange={setIsRaw} />
        </>
      )}
    </div>
  );
}

function List({ schema, onChange }: { schema: Fields; onChange: (schema: Fields) => void }) {
  const t = useTexts(TEXTS);
  return (
    <div className={list.list}>
      {argumentsOf(schema).map((argument, index) => (
        // Keyed by position, because a renamed argument is the same row.
        <Row key={index} argument={argument} schema={schema} onChange={onChange} />
      ))}
      <div><Button small icon={<Plus aria-hidden />} onPress={() => onChange(addArgument(schema))}>{t.add}</Button></div>
    </div>
  );
}

function Row({ argument, schema, onChange }: { argument: Argument; schema: Fields; onChange: (schema: Fields) => void }) {
  const t = useTexts(TEXTS);
  const { name, type } = argument;
  const set = (fields: Partial<Omit<Argument, 'name'>>) => onChange(changeArgument(schema, name, fields));
  const types: Option<string>[] = ARGUMENT_TYPES.map((value) => ({ value, label: t[value] }));
  const isKnown = ARGUMENT_TYPES.some((one) => one === type);
  return (
    <div role="group" aria-label={t.each(name)} className={list.argument}>
      <div className={list.first}>
        <CommitField label={t.name} isMono value={name} onChange={(next) => onChange(renameArgument(schema, name, next.trim()))} />
        <Select label={t.type} value={isKnown ? type : ''} options={isKnown ? types : [{ value: '', label: t.other }, ...types]} onChange={(next) => next !== '' && set({ type: next })} />
        <CommitField label={t.fallback} isMono value={argument.fallback} onChange={(fallback) => set({ fallback })} />
        <IconButton label={t.remove(name)} onPress={() => onChange(removeArgument(schema, name))}><Trash2 aria-hidden /></IconButton>
      </div>
      <div className={list.second}>
        <TextField label={t.description} value={argument.description} onChange={(description) => set({ description })} />
        <Checkbox label={t.required} isSelected={argument.isRequired} onChange={(isRequired) => set({ isRequired })} />
      </div>
    </div>
  );
}
