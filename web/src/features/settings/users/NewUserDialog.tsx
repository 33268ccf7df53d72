// Creates a user.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ask } from '@/api/client';
import { Dialog } from '@/components/Dialog';
import { Checkbox, TextField } from '@/components/Field';
import { texts, useTexts } from '@/i18n/language';

import { failures } from '../parts/failures';
import { Form } from '../parts/Form';
import { COMMON } from '../texts';

const TEXTS = texts(
  {
    title: 'New user', verb: 'Create user', password: 'First password', operator: 'Server admin',
    passwordAbout: 'At least 8 characters. They can change it in their settings. Leave empty for token sign-in only.',
    operatorAbout: 'Can create and switch off users, and see the audit log of the whole server.',
  },
  {
    title: '新建用户', verb: '创建用户', password: '初始密码', operator: '服务器管理员',
    passwordAbout: '至少 8 个字符，用户可在设置中修改。留空则只能用令牌登录。',
    operatorAbout: '可创建和停用用户，并查看整个服务器的记录。',
  },
);

export interface NewUserProps {
  onClose: () => void;
  onMade: () => Promise<void>;
}

export function NewUserDialog(props: NewUserProps) {
  const t = useTexts(TEXTS);
  return <Dialog title={t.title} isOpen onClose={props.onClose}><NewUserForm {...props} /></Dialog>;
}

function NewUserForm({ onClose, onMade }: NewUserProps) {
  const t = useTexts(TEXTS);
  const common = useTexts(COMMON);
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [isAdmin, setIsAdmin] = useState(false);
  const save = useMutation({
    mutationFn: () => ask(api.POST('/api/users', { body: { name: name.trim(), password: password === '' ? null : password, isAdmin } })),
    onSuccess: async () => {
      await onMade();
      onClose();
    },
  });
  const failed = failures(save.error, ['name', 'password']);
  return (
    <Form verb={t.verb} failed={failed} error={save.error} isPending={save.isPending} onSubmit={() => save.mutate()} onCancel={onClose}>
      <TextField label={common.name} value={name} onChange={setName} error={failed.at('name')} isRequired autoFocus autoComplete="off" />
      <TextField
        label={t.password} description={t.passwordAbout} value={password} onChange={setPassword} error={failed.at('password')}
        type="password" autoComplete="new-password"
      />
      <Checkbox label={t.operator} description={t.operatorAbout} isSelected={isAdmin} onChange={setIsAdmin} />
    </Form>
  );
}
