// Sets the password of another user.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ask, type Schemas } from '@/api/client';
import { Dialog } from '@/components/Dialog';
import { TextField } from '@/components/Field';
import { texts, useTexts } from '@/i18n/language';

import { failures } from '../parts/failures';
import { Form } from '../parts/Form';
import { COMMON } from '../texts';

const TEXTS = texts(
  { title: (name: string) => `Password of ${name}`, password: 'New password', about: 'At least 8 characters. Haft does not send it: pass it on yourself.' },
  { title: (name: string) => `${name} 的密码`, password: '新密码', about: '至少 8 个字符。请自行告知对方，Haft 不会通知任何人。' },
);

export interface PasswordProps {
  user: Schemas['User'];
  onClose: () => void;
}

export function PasswordDialog({ user, onClose }: PasswordProps) {
  const t = useTexts(TEXTS);
  return <Dialog title={t.title(user.name)} isOpen onClose={onClose}><PasswordForm user={user} onClose={onClose} /></Dialog>;
}

function PasswordForm({ user, onClose }: PasswordProps) {
  const t = useTexts(TEXTS);
  const common = useTexts(COMMON);
  const [password, setPassword] = useState('');
  const save = useMutation({
    mutationFn: () => ask(api.PATCH('/api/users/{id}', { params: { path: { id: user.id } }, body: { password } })),
    onSuccess: onClose,
  });
  const failed = failures(save.error, ['password']);
  return (
    <Form verb={common.save} failed={failed} error={save.error} isPending={save.isPending} isDisabled={password === ''} onSubmit={() => save.mutate()} onCancel={onClose}>
      <TextField
        label={t.password} description={t.about} value={password} onChange={setPassword} error={failed.at('password')}
        type="password" autoComplete="new-password" isRequired autoFocus
      />
    </Form>
  );
}
