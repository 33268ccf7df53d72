// A banner on every page until a server admin without a password has set one: without it, the admin is locked
// out when the session ends.
import { useLocation } from '@tanstack/react-router';
import { KeyRound } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';

import { useMe } from '@/api/me';
import { Button } from '@/components/Button';
import { useIsPasswordSkipped } from '@/components/password/skipped';
import { texts, useTexts } from '@/i18n/language';

import css from './Shell.module.css';

const PasswordDialog = lazy(() => import('@/components/password/PasswordDialog'));

const TEXTS = texts(
  {
    text: 'You have no password. When this session ends, you cannot sign in again without a token.', set: 'Set a password', title: 'Set a password',
  },
  { text: '你还没有密码。本次登录失效后，没有令牌将无法再次登录。', set: '设置密码', title: '设置密码' },
);

export function PasswordBanner() {
  const t = useTexts(TEXTS);
  const { user, hasPassword } = useMe();
  const isSkipped = useIsPasswordSkipped(user.id);
  const isFirstPage = useLocation({ select: ({ pathname }) => pathname === '/' });
  const [isOpen, setIsOpen] = useState(false);
  // The first page shows the form itself.
  if (hasPassword || !user.isAdmin || (isFirstPage && !isSkipped)) return null;
  return (
    <section className={css.banner} aria-label={t.title}>
      <KeyRound size={15} aria-hidden />
      <span>{t.text}</span>
      <Button small onPress={() => setIsOpen(true)}>{t.set}</Button>
      {isOpen && <Suspense><PasswordDialog title={t.title} onClose={() => setIsOpen(false)} /></Suspense>}
    </section>
  );
}
