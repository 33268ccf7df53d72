// Makes a space, or gives one another name.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ask, type Schemas } from '@/api/client';
import { Dialog } from '@/components/Dialog';
import { Checkbox, TextField } from '@/components/Field';
import { useWords, words } from '@/i18n/language';

import { failures } from '../parts/failures';
import { Form } from '../parts/Form';
import { COMMON } from '../words';
import { goToSpace } from './goToSpace';

const WORDS = words(
  { make: 'New space', rename: 'Rename the space', verb: 'Make space', about: 'You are its admin, and say who else is in it.', goThere: 'Go there then' },
  { make: '新建空间', rename: '重命名空间', verb: '创建空间', about: '你将成为管理员，并决定谁可加入。', goThere: '创建后进入' },
);

export interface SpaceDialogProps {
  /** Which one gets another name. */
  space?: Schemas['Space'];
  onClose: () => void;
  onSaved: () => Promise<void>;
}

export function SpaceDialog(props: SpaceDialogProps) {
  const t = useWords(WORDS);
  return <Dialog title={props.space === undefined ? t.make : t.rename} isOpen onClose={props.onClose}><SpaceForm {...props} /></Dialog>;
}

function SpaceForm({ space, onClose, onSaved }: SpaceDialogProps) {
  const t = useWords(WORDS);
  const common = useWords(COMMON);
  const [name, setName] = useState(space?.name ?? '');
  const [goesThere, setGoesThere] = useState(true);
  const save = useMutation({
    mutationFn: () => keep(space, name.trim()),
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

function keep(space: Schemas['Space'] | undefined, name: string): Promise<Schemas['Space']> {
  if (space === undefined) return ask(api.POST('/api/spaces', { body: { name } }));
  const params = { path: { id: space.id }, header: { 'If-Match': `"${space.version}"` } };
  return ask(api.PUT('/api/spaces/{id}', { params, body: { name } }));
}
