// Creates or renames a space.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ask, type Schemas } from '@/api/client';
import { Dialog } from '@/components/Dialog';
import { Checkbox, TextField } from '@/components/Field';
import { texts, useTexts } from '@/i18n/language';

import { failures } from '../parts/failures';
import { Form } from '../parts/Form';
import { COMMON } from '../texts';
import { goToSpace } from './goToSpace';

const TEXTS = texts(
  { make: 'New space', rename: 'Rename the space', verb: 'Create space', about: 'You become its admin, and add its other members.', goThere: 'Open it afterwards' },
  { make: '新建空间', rename: '重命名空间', verb: '创建空间', about: '你将成为管理员，并决定谁可加入。', goThere: '创建后进入' },
);

export interface SpaceDialogProps {
  /** The space to rename; absent for a new one. */
  space?: Schemas['Space'];
  onClose: () => void;
  onSaved: () => Promise<void>;
}

export function SpaceDialog(props: SpaceDialogProps) {
  const t = useTexts(TEXTS);
  return <Dialog title={props.space === undefined ? t.make : t.rename} isOpen onClose={props.onClose}><SpaceForm {...props} /></Dialog>;
}

function SpaceForm({ space, onClose, onSaved }: SpaceDialogProps) {
  const t = useTexts(TEXTS);
  const common = useTexts(COMMON);
  const [name, setName] = useState(space?.name ?? '');
  const [goesThere, setGoesThere] = useState(true);
  const save = useMutation({
    mutationFn: () => saveSpace(space, name.trim()),
    onSuccess: async (saved) => {
      if (space === undefined && goesThere) {
        goToSpace(saved.id);
        return;
      }
      await onSaved();
      onClose();
    },
  });
  const failed = failures(save.error, ['name']);
  return (
    <Form
      verb={space === undefined ? t.verb : common.rename} failed={failed} error={save.error} isPending={save.isPending}
      onSubmit={() => save.mutate()} onCancel={onClose}
    >
      <TextField
        label={common.name} value={name} onChange={setName} error={failed.at('name')} isRequired autoFocus autoComplete="off"
        {...(space === undefined ? { description: t.about } : {})}
      />
      {space === undefined && <Checkbox label={t.goThere} isSelected={goesThere} onChange={setGoesThere} />}
    </Form>
  );
}

function saveSpace(space: Schemas['Space'] | undefined, name: string): Promise<Schemas['Space']> {
  if (space === undefined) return ask(api.POST('/api/spaces', { body: { name } }));
  const params = { path: { id: space.id }, header: { 'If-Match': `"${space.version}"` } };
  return ask(api.PUT('/api/spaces/{id}', { params, body: { name } }));
}
