// The form for the user's own password, entered twice.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SyntheticEvent, useState } from 'react';

import { ApiError, errorText } from '@/api/client';
import { meQuery, useMe } from '@/api/me';
import { setOwnPassword } from '@/api/password';
import { Button } from '@/components/Button';
import { TextField } from '@/components/Field';
import { ErrorNote } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import css from './PasswordForm.module.css';

const TEXTS = texts(
  {
    fresh: 'New password', freshAbout: 'At least 8 characters.', again: 'Repeat password', differ: 'The passwords do not match.',
    set: 'Set password', change: 'Change password',
  },
  { fresh: '新密码', freshAbout: '至少 8 个字符。', again: '再次输入', differ: '两次输入不一致。', set: '设置密码', change: '修改密码' },
);

export interface PasswordFormProps {
  onDone: () => void;
  /** Content beside the submit button. */
  children?: ReactNode;
}

export function PasswordForm({ onDone, children }: PasswordFormProps) {
  const t = useTexts(TEXTS);
  const me = useMe();
  const queries = useQueryClient();
  const [password, setPassword] = useState('');
  const [again, setAgain] = useState('');
  const save = useMutation({
    mutationFn: () => setOwnPassword(me.user, password),
    onSuccess: async (now) => {
      setPassword('');
      setAgain('');
      onDone();
      queries.setQueryData(meQuery.queryKey, (before) => before && { ...before, hasPassword: now.hasPassword });
      // Requests sent while the session was replaced were refused.
      await queries.invalidateQueries();
    },
  });
  const refused = save.error instanceof ApiError ? save.error.violations.find(({ path }) => path === 'password')?.message : undefined;
  // Compared only once the repeated password is no longer a prefix.
  const differs = again !== '' && !password.startsWith(again);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (password !== '' && password === again && !save.isPending) save.mutate();
  };
  return (
    <form onSubmit={submit} className={css.form} noValidate>
      {/* The user name, for password managers. */}
      <input type="text" name="username" autoComplete="username" value={me.user.name} readOnly hidden />
      <TextField
        label={t.fresh} description={t.freshAbout} value={password} onChange={setPassword} error={refused} type="password" autoComplete="new-password" isRequired
      />
      <TextField
        label={t.again} value={again} onChange={setAgain} error={differs ? t.differ : undefined} type="password" autoComplete="new-password" isRequired
      />
      {save.error !== null && refused === undefined && <ErrorNote>{errorText(save.error)}</ErrorNote>}
      <div className={css.acts}>
        <Button type="submit" look="primary" isPending={save.isPending} isDisabled={password === '' || password !== again}>{me.hasPassword ? t.change : t.set}</Button>
        {children}
      </div>
    </form>
  );
}
