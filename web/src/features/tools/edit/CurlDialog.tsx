// Creates a tool from a pasted cURL command, after a preview. Credentials in it are saved as secrets.
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import { api, ask, errorText } from '@/api/client';
import { Button } from '@/components/Button';
import { Confirm, Dialog, DialogFooter } from '@/components/Dialog';
import { TextField } from '@/components/Field';
import { ErrorNote, Hint } from '@/components/Note';
import { useDebounced } from '@/components/useDebounced';
import { useTexts, texts } from '@/i18n/language';

import css from './CurlDialog.module.css';
import { CurlPreview } from './CurlPreview';

const TEXTS = texts(
  {
    title: 'Paste a cURL command', command: 'cURL command', name: 'Name', description: 'Description', descriptionHint: 'When to use it, for the model. You can improve it in the form afterwards.',
    create: 'Create and open in the form', createMany: (count: number) => `Create ${count} tools`, cancel: 'Cancel',
    leave: 'Leave the form?', lost: 'Your input in the form will be lost. The tool from the command is opened instead.', leaveVerb: 'Create and leave',
    waiting: 'Copy a command from documentation or from the browser’s network panel (“Copy as cURL”). A preview appears here. Nothing is saved until you create the tool.',
  },
  {
    title: '粘贴 cURL 命令', command: 'cURL 命令', name: '名称', description: '描述', descriptionHint: '告诉模型何时使用；之后可在表单中改进。',
    create: '创建并在表单中打开', createMany: (count: number) => `创建 ${count} 个工具`, cancel: '取消',
    leave: '离开表单？', lost: '你在表单中填写的内容将会丢失：会改为打开由命令创建的工具。', leaveVerb: '创建并离开',
    waiting: '可从文档或浏览器的网络面板（“以 cURL 格式复制”）获得。下方会显示它将成为的工具；确认之前不会保存任何内容。',
  },
);

const PAUSE = 300;

export interface CurlDialogProps {
  isOpen: boolean;
  onClose: () => void;
  /** The form behind the dialog has unsaved input. */
  isFormChanged: boolean;
}

export function CurlDialog({ isOpen, onClose, isFormChanged }: CurlDialogProps) {
  const t = useTexts(TEXTS);
  return <Dialog title={t.title} isOpen={isOpen} onClose={onClose} wide><Paste onClose={onClose} isFormChanged={isFormChanged} /></Dialog>;
}

function Paste({ onClose, isFormChanged }: Omit<CurlDialogProps, 'isOpen'>) {
  const t = useTexts(TEXTS);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [command, setCommand] = useState('');
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [isAsking, setIsAsking] = useState(false);
  const settled = useDebounced(command.trim(), PAUSE);
  const preview = useQuery({
    queryKey: ['tools', 'curl', settled],
    queryFn: () => ask(api.POST('/api/tools/import/curl', { body: { command: settled, only: [], dryRun: true } })),
    enabled: settled !== '',
    // Keep the last preview while the user types.
    placeholderData: keepPreviousData,
    gcTime: 0,
  });
  const report = settled === '' ? undefined : preview.data;
  const isSettled = settled === command.trim() && !preview.isPlaceholderData;
  const tools = report?.tools ?? [];
  const only = tools.length === 1 ? tools[0] : undefined;
  const create = useMutation({
    mutationFn: () => ask(api.POST('/api/tools/import/curl', {
      body: { command: settled, only: [], dryRun: false, name: only === undefined || name === '' ? null : name, description: only === undefined || description === '' ? null : description },
    })),
    // The user has already confirmed that the form is discarded.
    onSuccess: async (report) => {
      void queries.invalidateQueries({ queryKey: ['tools'] });
      void queries.invalidateQueries({ queryKey: ['secrets'] });
      const created = report.tools.length === 1 ? report.tools[0] : undefined;
      if (created === undefined) return navigate({ to: '/tools', search: { q: undefined, category: undefined }, ignoreBlocker: true });
      const { id } = await ask(api.GET('/api/tools/{id}', { params: { path: { id: created.name } } }));
      return navigate({ to: '/tools/$id', params: { id }, search: { tab: 'definition' }, ignoreBlocker: true });
    },
  });
  const error = create.error ?? (settled === '' ? null : preview.error);
  return (
    <>
      <TextField label={t.command} isMono rows={6} autoFocus value={command} onChange={setCommand} placeholder={'curl https://api.example.com/users/42 -H "Authorization: Bearer …"'} />
      {settled === '' && <Hint>{t.waiting}</Hint>}
      {error !== null && <ErrorNote>{errorText(error)}</ErrorNote>}
      {report !== undefined && <CurlPreview report={report} command={settled} />}
      {only !== undefined && (
        <div className={css.fields}>
          <TextField label={t.name} isMono value={name} onChange={setName} placeholder={only.name} />
          <TextField label={t.description} value={description} onChange={setDescription} placeholder={only.description} description={t.descriptionHint} />
        </div>
      )}
      <DialogFooter>
        <Button onPress={onClose}>{t.cancel}</Button>
        <Button look="primary" isDisabled={tools.length === 0 || !isSettled} isPending={create.isPending} onPress={() => (isFormChanged ? setIsAsking(true) : create.mutate())}>
          {tools.length > 1 ? t.createMany(tools.length) : t.create}
        </Button>
      </DialogFooter>
      <Confirm title={t.leave} verb={t.leaveVerb} isOpen={isAsking} onClose={() => setIsAsking(false)} onConfirm={() => create.mutateAsync()}>{t.lost}</Confirm>
    </>
  );
}
