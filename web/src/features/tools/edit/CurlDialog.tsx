// A pasted cURL command becomes a tool: shown first, then stored together with the secrets that it held.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import { api, ask, type Schemas, wordsOf } from '@/api/client';
import { Button } from '@/components/Button';
import { Dialog, DialogFooter } from '@/components/Dialog';
import { TextField } from '@/components/Field';
import { ErrorNote, Hint, WarningNote } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import css from './CurlDialog.module.css';
import { fieldsOf } from './json';
import { useSettled } from './useSettled';

const WORDS = words(
  {
    title: 'Paste a cURL command', command: 'cURL command', name: 'Name', description: 'Description', descriptionHint: 'When to use it, for the model. You can improve it in the form afterwards.',
    create: 'Create and open in the form', createMany: (count: number) => `Create ${count} tools`, cancel: 'Cancel',
    arguments: 'Arguments', noArguments: 'no arguments', secrets: (names: string) => `The credentials in it are encrypted as secrets when the tool is created: ${names}.`,
    waiting: 'Copied from documentation or from the browser’s network panel (“Copy as cURL”). What you see below is what it becomes; nothing is stored until you say so.',
  },
  {
    title: '粘贴 cURL 命令', command: 'cURL 命令', name: '名称', description: '描述', descriptionHint: '告诉模型何时使用；之后可在表单中改进。',
    create: '创建并在表单中打开', createMany: (count: number) => `创建 ${count} 个工具`, cancel: '取消',
    arguments: '参数', noArguments: '无参数', secrets: (names: string) => `其中的凭证会在创建工具时加密保存为密钥：${names}。`,
    waiting: '可从文档或浏览器的网络面板（“以 cURL 格式复制”）获得。下方会显示它将成为的工具；确认之前不会保存任何内容。',
  },
);

const PAUSE = 300;

type Report = Schemas['ImportReport'];

export function CurlDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const t = useWords(WORDS);
  return <Dialog title={t.title} isOpen={isOpen} onClose={onClose} wide><Paste onClose={onClose} /></Dialog>;
}

function Paste({ onClose }: { onClose: () => void }) {
  const t = useWords(WORDS);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [command, setCommand] = useState('');
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const wanted = useSettled(command.trim(), PAUSE);
  const preview = useQuery({
    queryKey: ['tools', 'curl', wanted],
    queryFn: () => ask(api.POST('/api/tools/import/curl', { body: { command: wanted, only: [], dryRun: true } })),
    enabled: wanted !== '',
    gcTime: 0,
  });
  const tools = preview.data?.tools ?? [];
  const only = tools.length === 1 ? tools[0] : undefined;
  const create = useMutation({
    mutationFn: () => ask(api.POST('/api/tools/import/curl', {
      body: { command: wanted, only: [], dryRun: false, name: only === undefined || name === '' ? null : name, description: only === undefined || description === '' ? null : description },
    })),
    onSuccess: async (report) => {
      void queries.invalidateQueries({ queryKey: ['tools'] });
      void queries.invalidateQueries({ queryKey: ['secrets'] });
      const made = report.tools.length === 1 ? report.tools[0] : undefined;
      if (made === undefined) return navigate({ to: '/tools', search: { q: undefined, category: undefined }, ignoreBlocker: true });
      const { id } = await ask(api.GET('/api/tools/{id}', { params: { path: { id: made.name } } }));
      return navigate({ to: '/tools/$id', params: { id }, search: { tab: 'definition' }, ignoreBlocker: true });
    },
  });
  const error = create.error ?? (wanted === '' ? null : preview.error);
  return (
    <>
      <TextField label={t.command} isMono rows={6} autoFocus value={command} onChange={setCommand} placeholder={'curl https://api.example.com/users/42 -H "Authorization: Bearer …"'} />
      {wanted === '' && <Hint>{t.waiting}</Hint>}
      {error !== null && <ErrorNote>{wordsOf(error)}</ErrorNote>}
      {preview.data !== undefined && <Found report={preview.data} />}
      {only !== undefined && (
        <div className={css.fields}>
          <TextField label={t.name} isMono value={name} onChange={setName} placeholder={only.name} />
          <TextField label={t.description} value={description} onChange={setDescription} placeholder={only.description} description={t.descriptionHint} />
        </div>
      )}
      <DialogFooter>
        <Button onPress={onClose}>{t.cancel}</Button>
        <Button look="primary" isDisabled={tools.length === 0 || wanted !== command.trim()} isPending={create.isPending} onPress={() => create.mutate()}>
          {tools.length > 1 ? t.createMany(tools.length) : t.create}
        </Button>
      </DialogFooter>
    </>
  );
}

function Found({ report }: { report: Report }) {
  const t = useWords(WORDS);
  return (
    <div className={css.found} role="status">
      {report.tools.map((tool) => {
        const names = Object.keys(fieldsOf(fieldsOf(tool.inputSchema)['properties']));
        return (
          <div key={tool.name} className={css.tool}>
            <div><b className="mono">{tool.method}</b> <code>{tool.path}</code></div>
            <div className={css.arguments}>
              <span className="quiet small">{names.length === 0 ? t.noArguments : t.arguments}</span>
              {names.map((name) => <code key={name} className={css.argument}>{name}</code>)}
            </div>
          </div>
        );
      })}
      {report.secrets.length > 0 && <Hint>{t.secrets(report.secrets.join(', '))}</Hint>}
      {report.notes.map((note) => <Hint key={note}>{note}</Hint>)}
      {report.skipped.map(({ operation, reason }) => <WarningNote key={operation}>{operation}: {reason}</WarningNote>)}
    </div>
  );
}
