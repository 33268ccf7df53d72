// The first page asks a server admin who signed in by a link or a token to set a password, until it is set or
// skipped.
import { KeyRound } from 'lucide-react';

import { useMe } from '@/api/me';
import { Button } from '@/components/Button';
import { Card } from '@/components/Page';
import { PasswordForm } from '@/components/password/PasswordForm';
import { skipPassword, useIsPasswordSkipped } from '@/components/password/skipped';
import { texts, useTexts } from '@/i18n/language';

import css from './AskPassword.module.css';

const TEXTS = texts(
  {
    title: 'Set a password', skip: 'Skip for now',
    text: (name: string) => `You have no password yet. This session ends seven days after you signed in; without a password or a token you cannot sign in again. With one, sign in as “${name}”.`,
  },
  {
    title: '设置密码', skip: '暂时跳过',
    text: (name: string) => `你还没有密码。本次登录在七天后失效；届时没有密码或令牌将无法再次登录。设置后，请以“${name}”登录。`,
  },
);

export function AskPassword() {
  const t = useTexts(TEXTS);
  const { user, hasPassword } = useMe();
  const isSkipped = useIsPasswordSkipped(user.id);
  if (hasPassword || !user.isAdmin || isSkipped) return null;
  return (
    <Card title={t.title}>
      <div className={css.ask}>
        <p><KeyRound size={16} aria-hidden /> {t.text(user.name)}</p>
        <PasswordForm onDone={() => undefined}><Button onPress={() => skipPassword(user.id)}>{t.skip}</Button></PasswordForm>
      </div>
    </Card>
  );
}
