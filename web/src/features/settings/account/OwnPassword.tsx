// Another password for oneself, typed twice.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ask } from '@/api/client';
import { useMe } from '@/api/me';
import { TextField } from '@/components/Field';
import { useWords, words } from '@/i18n/language';

import { failures } from '../parts/failures';
import { Form } from '../parts/Form';
import { GoodNote } from '../parts/GoodNote';
import css from './AccountSection.module.css';

const WORDS = words(
  {
    fresh: 'New password', freshAbout: 'At least 8 characters.', again: 'The same again', differ: 'The two are not the same.', change: 'Change password',
    changed: 'Your password was changed.',
  },
  { fresh: '新密码', freshAbout: '至少 8 个字符。', again: '再次输入', differ: '两次输入不一致。', change: '修改密码', changed: '密码已修改。' },
);

export function OwnPassword() {
  const t = useWords(WORDS);
  const me = useMe();
  const [password, setPassword] = useState('');
  const [again, setAgain] = useState('');
  const save = useMutation({
    mutationFn: () => ask(api.PATCH('/api/users/{id}', { params: { path: { id: me.user.id } }, body: { password } })),
    onSuccess: () => {
      setPassword('');
      setAgain('');
    },
  });
  const failed = failures(save.error, ['password']);
  // Not before there is enough of it to be compared.
  const differs = again !== '' && !password.startsWith(again);
  return (
    <div className={css.password}>
      {save.isSuccess && password === '' && <GoodNote>{t.changed}</GoodNote>}
      <Form
        verb={t.change} failed={failed} error={save.error} isPending={save.isPending} isDisabled={password === '' || password !== again}
        onSubmit={() => save.mutate()}
      >
        {/* So that password managers know whose it is. */}
        <input type="text" name="username" autoComplete="username" value={me.user.name} readOnly hidden />
        <TextField
          label={t.fresh} description={t.freshAbout} value={password} onChange={setPassword} error={failed.at('password')}
          type="password" autoComplete="new-password" isRequired
        />
        <TextField
          label={t.again} value={again} onChange={setAgain} error={differs ? t.differ : undefined}
          type="password" autoComplete="new-password" isRequired
        />
      </Form>
    </div>
  );
}
