// Adds a provider, or changes one. A key that is written here becomes a secret.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ask, type Schemas, wordsOf } from '@/api/client';
import { CodeEditor, pretty } from '@/components/Code';
import { Dialog } from '@/components/Dialog';
import { Checkbox, Select, TextField } from '@/components/Field';
import { ErrorNote, Hint } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import { failures } from '../parts/failures';
import { Form } from '../parts/Form';
import { COMMON } from '../words';
import { ADDRESSES, KIND_WORDS, type Kind, KINDS } from './kinds';
import css from './ProviderRow.module.css';

type Provider = Schemas['Provider'];
type Script = Schemas['ProviderScript'];

const EXAMPLE: Script = [
  { text: 'I work that out.', toolCalls: [{ name: 'calculator', arguments: { expression: '6 * 7' } }] },
  { text: 'It is 42.' },
];

/** What is wrong with a text that should be JSON. */
function faultOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return wordsOf(error);
  }
}

const WORDS = words(
  {
    add: 'Add provider', edit: (name: string) => `Edit ${name}`, kind: 'Kind', nameAbout: 'Letters, digits, _ and -. Agents name it.',
    baseUrl: 'Address', baseUrlAbout: 'Empty: the usual one of this kind.', key: 'Key', newKey: 'Another key',
    keyAbout: 'It becomes a secret of the space. The name of one that is there works too, such as secret://openai.',
    keptAs: (reference: string) => `The key is kept as ${reference}. Empty: it stays.`, dropKey: 'Use no key from now on',
    models: 'Models', modelsAbout: 'One in each line. Empty: all that the provider has.', script: 'Script',
    scriptAbout: 'This is no model: it gives these answers one after the other, whatever is asked, and calls the tools they name. For tests and for a first look.',
    scriptBad: (reason: string) => `This is no JSON: ${reason}`, textToolCalls: 'Models have no native tool calls',
    textToolCallsAbout: 'A call that a model writes at the end of its text is executed; what is not read-only waits for approval.',
  },
  {
    add: '添加模型服务', edit: (name: string) => `编辑 ${name}`, kind: '类型', nameAbout: '字母、数字、_ 和 -。智能体以此名称引用。',
    baseUrl: '地址', baseUrlAbout: '留空则使用该类型的默认地址。', key: '密钥', newKey: '新密钥',
    keyAbout: '将保存为空间密钥。也可填写已有密钥的名称，例如 secret://openai。',
    keptAs: (reference: string) => `当前密钥保存为 ${reference}。留空则保持不变。`, dropKey: '不再使用密钥',
    models: '模型', modelsAbout: '每行一个。留空则使用该服务的全部模型。', script: '脚本',
    scriptAbout: '这不是模型：无论问什么，都按顺序给出这些回答，并调用其中列出的工具。用于测试和体验。',
    scriptBad: (reason: string) => `不是有效的 JSON：${reason}`, textToolCalls: '模型不支持原生工具调用',
    textToolCallsAbout: '执行模型写在文本末尾的调用；非只读的调用需等待批准。',
  },
);

export interface ProviderDialogProps {
  /** Which one is changed; a new one without it. */
  provider: Provider | undefined;
  onClose: () => void;
}

export function ProviderDialog(props: ProviderDialogProps) {
  const t = useWords(WORDS);
  const { provider, onClose } = props;
  return <Dialog title={provider === undefined ? t.add : t.edit(provider.name)} isOpen onClose={onClose}><ProviderForm {...props} /></Dialog>;
}

function ProviderForm({ provider, onClose }: ProviderDialogProps) {
  const t = useWords(WORDS);
  const common = useWords(COMMON);
  const kinds = useWords(KIND_WORDS);
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
  const kept = provider?.apiKey ?? null;
  const save = useMutation({
    mutationFn: () => keep(provider, kind === 'scripted' ? { name: name.trim(), kind, script: JSON.parse(script) as Script } : {
      name: name.trim(),
      kind,
      baseUrl: baseUrl.trim() === '' ? null : baseUrl.trim(),
      apiKey: isKeyDropped ? null : (key.trim() === '' ? kept : key.trim()),
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
            label={kept === null ? t.key : t.newKey} description={kept === null ? t.keyAbout : t.keptAs(kept)} value={key} onChange={setKey}
            error={failed.at('apiKey')} type="password" autoComplete="new-password" isMono isDisabled={isKeyDropped}
          />
          {kept !== null && <Checkbox label={t.dropKey} isSelected={isKeyDropped} onChange={setIsKeyDropped} />}
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

function keep(provider: Provider | undefined, body: Schemas['ProviderInput']): Promise<Provider> {
  if (provider === undefined) return ask(api.POST('/api/providers', { body }));
  const params = { path: { id: provider.id }, header: { 'If-Match': `"${provider.version}"` } };
  return ask(api.PUT('/api/providers/{id}', { params, body }));
}
