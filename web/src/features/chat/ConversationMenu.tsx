// Actions for a conversation: rename, export, delete.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { FileJson, FileText, Pencil, Trash2 } from 'lucide-react';
import { type ReactNode, useState } from 'react';

import { errorText } from '@/api/client';
import { Confirm, Dialog } from '@/components/Dialog';
import { Menu } from '@/components/Menu';
import { ErrorNote } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { conversationKey } from './queries';
import { RenameDialog } from './RenameDialog';
import { exported, type Format, remove } from './requests';
import { fileName, saveFile } from './saveFile';

const TEXTS = texts(
  {
    label: 'Conversation', rename: 'Rename', markdown: 'Export as Markdown', json: 'Export as JSON', remove: 'Delete', untitled: 'this conversation',
    title: (name: string) => `Delete ${name}?`, text: 'Its messages are deleted permanently. Its calls stay in the call log.', verb: 'Delete conversation',
    notExported: 'Not exported',
  },
  {
    label: '对话', rename: '重命名', markdown: '导出为 Markdown', json: '导出为 JSON', remove: '删除', untitled: '此对话',
    title: (name: string) => `删除${name}？`, text: '对话内容将永久删除，已执行的调用仍保留在日志中。', verb: '删除对话',
    notExported: '导出失败',
  },
);

const ENDINGS: Record<Format, string> = { json: 'json', markdown: 'md' };

export function ConversationMenu({ row: { id, title }, trigger }: { row: { id: string; title: string }; trigger: ReactNode }) {
  const t = useTexts(TEXTS);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const open = useParams({ strict: false }).id;
  const [openDialog, setOpenDialog] = useState<'rename' | 'remove'>();
  const save = useMutation({
    mutationFn: (format: Format) => exported(id, format),
    onSuccess: (blob, format) => saveFile(blob, fileName(title, ENDINGS[format])),
  });
  const end = async () => {
    await remove(id);
    queries.removeQueries({ queryKey: conversationKey(id) });
    if (open === id) await navigate({ to: '/chat', search: { agent: undefined } });
    void queries.invalidateQueries({ queryKey: ['conversations'] });
  };
  const name = title === '' ? t.untitled : `“${title}”`;
  return (
    <>
      <Menu
        label={t.label} trigger={trigger}
        actions={[
          { id: 'rename', label: t.rename, icon: <Pencil size={15} aria-hidden />, onAction: () => setOpenDialog('rename') },
          { id: 'markdown', label: t.markdown, icon: <FileText size={15} aria-hidden />, onAction: () => save.mutate('markdown') },
          { id: 'json', label: t.json, icon: <FileJson size={15} aria-hidden />, onAction: () => save.mutate('json') },
          { id: 'remove', label: t.remove, icon: <Trash2 size={15} aria-hidden />, isDangerous: true, onAction: () => setOpenDialog('remove') },
        ]}
      />
      <RenameDialog id={id} title={title} isOpen={openDialog === 'rename'} onClose={() => setOpenDialog(undefined)} />
      <Confirm title={t.title(name)} verb={t.verb} isOpen={openDialog === 'remove'} onClose={() => setOpenDialog(undefined)} onConfirm={end}>{t.text}</Confirm>
      <Dialog title={t.notExported} isOpen={save.error !== null} onClose={() => save.reset()}><ErrorNote>{errorText(save.error)}</ErrorNote></Dialog>
    </>
  );
}
