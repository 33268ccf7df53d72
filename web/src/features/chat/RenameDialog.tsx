// Renames a conversation.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { ApiError, errorText } from '@/api/client';
import { Button } from '@/components/Button';
import { Dialog, DialogFooter } from '@/components/Dialog';
import { TextField } from '@/components/Field';
import { texts, useTexts } from '@/i18n/language';

import { conversationKey } from './queries';
import { rename } from './requests';
import type { Conversation } from './wire';

const TEXTS = texts(
  { title: 'Rename conversation', name: 'Title', save: 'Save', cancel: 'Cancel' },
  { title: '重命名对话', name: '标题', save: '保存', cancel: '取消' },
);

interface Props {
  id: string;
  title: string;
  isOpen: boolean;
  onClose: () => void;
}

export function RenameDialog(props: Props) {
  const t = useTexts(TEXTS);
  return <Dialog title={t.title} isOpen={props.isOpen} onClose={props.onClose}><Form {...props} /></Dialog>;
}

function Form({ id, title, onClose }: Props) {
  const t = useTexts(TEXTS);
  const queries = useQueryClient();
  const [name, setName] = useState(title);
  const save = useMutation({
    mutationFn: () => rename(id, name.trim()),
    onSuccess: async () => {
      queries.setQueryData<Conversation>(conversationKey(id), (talk) => talk && { ...talk, title: name.trim() });
      await queries.invalidateQueries({ queryKey: ['conversations'] });
      onClose();
    },
  });
  const [wrong] = save.error instanceof ApiError ? save.error.violations : [];
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() !== '' && !save.isPending) save.mutate();
      }}
    >
      <TextField label={t.name} value={name} onChange={setName} autoFocus isRequired error={save.error === null ? undefined : (wrong?.message ?? errorText(save.error))} />
      <DialogFooter>
        <Button onPress={onClose}>{t.cancel}</Button>
        <Button type="submit" look="primary" isPending={save.isPending} isDisabled={name.trim() === ''}>{t.save}</Button>
      </DialogFooter>
    </form>
  );
}
