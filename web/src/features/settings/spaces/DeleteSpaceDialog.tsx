// Deletes a space; if it is not empty, only after a confirmation that lists the losses.
import { useMutation } from '@tanstack/react-query';

import { api, ApiError, ask, errorText, type Schemas } from '@/api/client';
import { useMe } from '@/api/me';
import { Button } from '@/components/Button';
import { Dialog, DialogFooter } from '@/components/Dialog';
import { ErrorNote, WarningNote } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { COMMON } from '../texts';
import { goToSpace } from './goToSpace';

const TEXTS = texts(
  {
    title: (name: string) => `Delete the space ${name}?`, text: 'Its members lose access, and their tokens for it stop working.',
    full: 'It is not empty. All of its contents are deleted permanently: tools with all their versions, agents, providers, alerts, secrets, and files.',
    force: 'Delete with all contents',
  },
  {
    title: (name: string) => `删除空间 ${name}？`, text: '其成员将失去该空间，相关令牌随即失效。',
    full: '该空间不为空。以下内容将随之对所有成员永久删除，无法恢复：工具及其全部版本、智能体、模型服务、告警、密钥和文件。',
    force: '连同全部内容一起删除',
  },
);

export interface DeleteSpaceProps {
  space: Schemas['Space'];
  onClose: () => void;
  onDeleted: () => Promise<void>;
}

export function DeleteSpaceDialog({ space, onClose, onDeleted }: DeleteSpaceProps) {
  const t = useTexts(TEXTS);
  const common = useTexts(COMMON);
  const me = useMe();
  const remove = useMutation({
    mutationFn: (force: boolean) => ask(api.DELETE('/api/spaces/{id}', { params: { path: { id: space.id }, query: { force } } })),
    onSuccess: async () => {
      if (me.space?.id === space.id) {
        goToSpace(null, 'spaces');
        return;
      }
      await onDeleted();
      onClose();
    },
  });
  const isFull = remove.error instanceof ApiError && remove.error.kind === 'Conflict';
  return (
    <Dialog title={t.title(space.name)} isOpen onClose={onClose}>
      <div>{t.text}</div>
      {isFull && <div role="alert"><WarningNote>{t.full}</WarningNote></div>}
      {remove.error !== null && !isFull && <ErrorNote>{errorText(remove.error)}</ErrorNote>}
      <DialogFooter>
        <Button onPress={onClose}>{common.cancel}</Button>
        <Button look="danger" isPending={remove.isPending} onPress={() => remove.mutate(isFull)}>{isFull ? t.force : common.remove}</Button>
      </DialogFooter>
    </Dialog>
  );
}
