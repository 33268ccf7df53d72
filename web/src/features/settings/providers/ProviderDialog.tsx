// Creates or edits a provider. A key entered here is stored as a secret.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ask, errorText, type Schemas } from '@/api/client';
import { CodeEditor, pretty } from '@/components/Code';
import { Dialog } from '@/components/Dialog';
import { Checkbox, Select, TextField } from '@/components/Field';
import { ErrorNote, Hint } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { failures } from '../parts/failures';
import { Form } from '../parts/Form';
import { COMMON } from '../texts';
import { ADDRESSES, type Kind, KIND_TEXTS, KINDS } from './kinds';
import css from './ProviderRow.module.css';

type Provider = Schemas['Provider'];
type Script = Schemas['ProviderScript'];

const EXAMPLE: Script = [
  { text: 'I work that out.', toolCalls: [{ name: 'calculator', arguments: { expression: '6 * 7' } }] },
  { text: 'It is 42.' },
];

/** The JSON syntax error in a text. Returns `undefined` if the text is valid. */
function faultOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

const TEXTS = texts(
  {
    add: 'Add provider', edit: (name: string) => `Edit ${name}`, kind: 'Kind', nameAbout: 'Letters, digits, _ and -. Agents refer to it by name.',
    baseUrl: 'Address', baseUrlAbout: 'Leave empty for the default address of this kind.', key: 'Key', newKey: 'New key',
    keyAbout: 'It is stored as a secret of the space. You can also name an existing secret, such as secret://openai.',
    storedAs: (reference: string) => `The key is stored as ${reference}. Leave empty to keep it.`, dropKey: 'Use no key',
    models: 'Models', modelsAbout: 'One per line. Leave empty for all models of the provider.', script: 'Script',
    scriptAbout: 'Not a model: it returns these responses in order, whatever the question, and calls the tools they name. For tests and demos.',
    scriptBad: (reason: string) => `Not valid JSON: ${reason}`, textToolCalls: 'Models have no native tool calls',
    textToolCallsAbout: 'A tool call that a model writes at the end of its text is executed. Unless the tool is read-only, the call needs approval.',
  },
  {
    add: '添加模型服务', edit: (name: string) => `编辑 ${name}`, kind: '类型', nameAbout: '字母、数字、_ 和 -。智能体以此名称引用。',
    baseUrl: '地址', baseUrlAbout: '留空则使用该类型的默认地址。', key: '密钥', newKey: '新密钥',
    keyAbout: '将保存为空间密钥。也可填写已有密钥的名称，例如 secret://openai。',
    storedAs: (reference: string) => `当前密钥保存为 ${reference}。留空则保持不变。`, dropKey: '不再使用密钥',
    models: '模型', modelsAbout: '每行一个。留空则使用该服务的全部模型。', script: '脚本',
    scriptAbout: '这不是模型：无论问什么，都按顺序给出这些回答，并调用其中列出的工具。用于测试和体验。',
    scriptBad: (reason: string) => `不是有效的 JSON：${reason}`, textToolCalls: '模型不支持原生工具调用',
    textToolCallsAbout: '执行模型写在文本末尾的调用；非只读的调用需等待批准。',
  },
);

export interface ProviderDialogProps {
  /** The edited provider; `undefined` for a new one. */
  provider: Provider | undefined;
  onClose: () => void;
}

export function ProviderDialog(props: ProviderDialogProps) {
  const t = useTexts(TEXTS);
  const { provider, onClose } = props;
  return <Dialog title={provider === undefined ? t.add : t.edit(provider.name)} isOpen onClose={onClose}><ProviderForm {...props} /></Dialog>;
}

function ProviderForm({ provider, onClose }: ProviderDialogProps) {
  const t = useTexts(TEXTS);
  const common = useTexts(COMMON);
  const kinds = useTexts(KIND_TEXTS);
  const queries = useQueryClient();
  const [name, setName] = useState(provider?.name ?? '');
  const [kind, setKind] = useState<Kind>(provider?.kind ?? 'openai');
  const [baseUrl, setBaseUrl] = useState(provider?.baseUrl ?? '');
  const [key, setKey] = useState('');
  const [isKeyDropped, setIsKeyDropped] = useState(false);
  const [models, setModels] = useState(provider?.models.join('\n') ?? '');
  const [script, setScript] = useState(() => pretty(provider?.script ?? EXAMPLE));
  const [hasTextToolCalls, setHasTextToolCalls] = useState(provider?.textToolCalls ?? false);
  const [broken, setBroken] = useState<string>();
  const storedKey = provider?.apiKey ?? null;
  const save = useMutation({
    mutationFn: () => saveProvider(provider, kind === 'scripted' ? { name: name.trim(), kind, script: JSON.parse(script) as Script } : {
      name: name.trim(),
      kind,
      baseUrl: baseUrl.trim() === '' ? null : baseUrl.trim(),
      apiKey: isKeyDropped ? null : (key.trim() === '' ? storedKey : key.trim()),
      models: models.split('\n').map((model) => model.trim()).filter((model) => model !== ''),
      ...(hasTextToolCalls ? { textToolCalls: true } : {}),
    }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['providers'] });
      void queries.invalidateQueries({ queryKey: ['secrets'] });
      onClose();
    },
  });
  const failed = failures(save.error, ['name', 'kind', 'baseUrl', 'apiKey', 'models', 'script']);
  const submit = () => {
    const reason = kind === 'scripted' ? faultOf(script) : undefined;
    setBroken(reason);
    if (reason === undefined) save.mutate();
  };
  const wrong = broken === undefined ? failed.at('script') : t.scriptBad(broken);
  return (
    <Form verb={common.save} failed={failed} error={save.error} isPending={save.isPending} onSubmit={submit} onCancel={onClose}>
      <Select
        label={t.kind} value={kind} onChange={setKind} error={failed.at('kind')}
        options={KINDS.map((one) => ({ value: one, label: kinds[one], description: kinds[`${one}About`] }))}
      />
      <TextField
        label={common.name} description={t.nameAbout} value={name} onChange={setName} error={failed.at('name')} isRequired autoFocus
        autoComplete="off" placeholder={kind}
      />
      {kind !== 'scripted' && (
        <>
          <TextField
            label={t.baseUrl} description={t.baseUrlAbout} value={baseUrl} onChange={setBaseUrl} error={failed.at('baseUrl')}
            type="url" isMono placeholder={ADDRESSES[kind]} autoComplete="off"
          />
          <TextField
            label={storedKey === null ? t.key : t.newKey} description={storedKey === null ? t.keyAbout : t.storedAs(storedKey)} value={key} onChange={setKey}
            error={failed.at('apiKey')} type="password" autoComplete="new-password" isMono isDisabled={isKeyDropped}
          />
          {storedKey !== null && <Checkbox label={t.dropKey} isSelected={isKeyDropped} onChange={setIsKeyDropped} />}
        </>
      )}
      {kind === 'scripted' ? (
        <div className={css.script}>
          <Hint>{t.scriptAbout}</Hint>
          <strong>{t.script}</strong>
          <CodeEditor label={t.script} value={script} onChange={setScript} language="json" minHeight={200} isInvalid={wrong !== undefined} />
          {wrong !== undefined && <ErrorNote>{wrong}</ErrorNote>}
        </div>
      ) : (
        <>
          <TextField label={t.models} description={t.modelsAbout} value={models} onChange={setModels} error={failed.at('models')} rows={3} isMono />
          <Checkbox label={t.textToolCalls} description={t.textToolCallsAbout} isSelected={hasTextToolCalls} onChange={setHasTextToolCalls} />
        </>
      )}
    </Form>
  );
}

function saveProvider(provider: Provider | undefined, body: Schemas['ProviderInput']): Promise<Provider> {
  if (provider === undefined) return ask(api.POST('/api/providers', { body }));
  const params = { path: { id: provider.id }, header: { 'If-Match': `"${provider.version}"` } };
  return ask(api.PUT('/api/providers/{id}', { params, body }));
}
