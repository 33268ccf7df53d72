// Adds or invites a user to the space; server admins can also create the user.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ask, type Schemas } from '@/api/client';
import { type Role, useMe } from '@/api/me';
import { Dialog } from '@/components/Dialog';
import { Checkbox, TextField } from '@/components/Field';
import { texts, useTexts } from '@/i18n/language';

import { failures } from '../parts/failures';
import { Form } from '../parts/Form';
import { RoleSelect } from './RoleSelect';

const TEXTS = texts(
  {
    title: 'Add member', user: 'Name', userAbout: 'They join when they accept the invitation, under Settings, Spaces.',
    userAboutOperator: 'Name or id of a user of this server. They join at once.', newUser: 'Name', role: 'Role',
    isNew: 'They have no account yet', isNewAbout: 'Creates a user with a personal space.', password: 'First password',
    passwordAbout: 'At least 8 characters. They can change it in their settings. Leave empty for token sign-in only.',
  },
  {
    title: '添加成员', user: '用户名', userAbout: '对方在“设置 - 空间”中接受邀请后加入。',
    userAboutOperator: '本服务器用户的名称或 id，立即加入。', newUser: '用户名', role: '角色',
    isNew: '尚无账户', isNewAbout: '将创建用户及其个人空间。', password: '初始密码',
    passwordAbout: '至少 8 个字符，用户可在设置中修改。留空则只能用令牌登录。',
  },
);

/** Server admins add a user at once; other admins invite. */
type Joined = Schemas['Member'] | Schemas['Invitation'];

export interface AddMemberProps {
  space: string;
  onClose: () => void;
  onAdded: () => Promise<void>;
}

export function AddMemberDialog(props: AddMemberProps) {
  const t = useTexts(TEXTS);
  return <Dialog title={t.title} isOpen onClose={props.onClose}><AddMemberForm {...props} /></Dialog>;
}

function AddMemberForm({ space, onClose, onAdded }: AddMemberProps) {
  const t = useTexts(TEXTS);
  const me = useMe();
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('caller');
  const [isNew, setIsNew] = useState(false);
  const [password, setPassword] = useState('');
  const save = useMutation({
    mutationFn: async () => {
      let user = name.trim();
      if (isNew) {
        user = (await ask(api.POST('/api/users', { body: { name: user, password: password === '' ? null : password, isAdmin: false } }))).id;
        // If adding the member fails, the created user still exists.
        setIsNew(false);
        void queries.invalidateQueries({ queryKey: ['users'] });
      }
      return ask<Joined>(api.PUT('/api/spaces/{id}/members/{user}', { params: { path: { id: space, user } }, body: { role } }));
    },
    onSuccess: async () => {
      await onAdded();
      onClose();
    },
  });
  const failed = failures(save.error, ['name', 'user', 'password']);
  return (
    <Form
      verb={t.title} failed={failed} error={save.error} isPending={save.isPending} isDisabled={name.trim() === ''}
      onSubmit={() => save.mutate()} onCancel={onClose}
    >
      <TextField
        label={isNew ? t.newUser : t.user} value={name} onChange={setName} error={failed.at('user') ?? failed.at('name')}
        isRequired autoFocus autoComplete="off" {...(isNew ? {} : { description: me.user.isAdmin ? t.userAboutOperator : t.userAbout })}
      />
      {me.user.isAdmin && <Checkbox label={t.isNew} description={t.isNewAbout} isSelected={isNew} onChange={setIsNew} />}
      {isNew && (
        <TextField
          label={t.password} description={t.passwordAbout} value={password} onChange={setPassword} error={failed.at('password')}
          type="password" autoComplete="new-password"
        />
      )}
      <RoleSelect label={t.role} value={role} onChange={setRole} />
    </Form>
  );
}
