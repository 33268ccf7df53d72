// The login page: by name and password, by token, or by the one-time link that the server printed.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { type SyntheticEvent, useEffect, useRef, useState } from 'react';

import { api, ask, clearForeignSpace, errorText } from '@/api/client';
import { meQuery } from '@/api/me';
import { Button } from '@/components/Button';
import { TextField } from '@/components/Field';
import { Logo } from '@/components/Logo';
import { ErrorNote } from '@/components/Note';
import { Loading } from '@/components/Page';
import { Tabs } from '@/components/Tabs';
import { texts, useLanguage, useTexts } from '@/i18n/language';

import css from './LoginPage.module.css';

const TEXTS = texts(
  {
    title: 'Sign in', about: 'Define a tool once. Every agent, script and app can call it.', name: 'Name', password: 'Password', token: 'Token',
    how: 'How to sign in', withPassword: 'Password', withToken: 'Token', enter: 'Sign in', other: '中文',
    lost: 'Cannot sign in? Stop the server and run', tokenHint: 'A token with the full rights of its user.',
  },
  {
    title: '登录', about: '工具只需定义一次，智能体、脚本和应用都能调用。', name: '用户名', password: '密码', token: '令牌',
    how: '登录方式', withPassword: '密码', withToken: '令牌', enter: '登录', other: 'English',
    lost: '无法登录？请停止服务并运行', tokenHint: '需要拥有用户全部权限的令牌。',
  },
);

type Credentials = { name: string; password: string } | { token: string } | { link: string };

const route = getRouteApi('/login');

export function LoginPage() {
  const t = useTexts(TEXTS);
  const { language, choose } = useLanguage();
  const { link, from } = route.useSearch();
  const router = useRouter();
  const queries = useQueryClient();
  const enter = useMutation({
    mutationFn: (given: Credentials) => ask(api.POST('/api/login', { body: given })),
    onSuccess: (me) => {
      queries.clear();
      clearForeignSpace(me.spaces);
      queries.setQueryData(meQuery.queryKey, me);
      // Redirects only within the console.
      router.history.replace(from?.startsWith('/') === true && !from.startsWith('//') ? from : '/');
    },
  });
  useLink(link, enter.mutate);
  if (link !== undefined && enter.error === null) return <Loading />;
  return (
    <main className={css.page}>
      <title>{`${t.title} · Haft`}</title>
      <div className={css.card}>
        <header className={css.header}>
          <Logo size={40} />
          <h1>{t.title}</h1>
          <p className="quiet">{t.about}</p>
        </header>
        {enter.error !== null && <ErrorNote>{errorText(enter.error)}</ErrorNote>}
        <Tabs
          label={t.how}
          tabs={[
            { id: 'password', label: t.withPassword, content: <ByPassword isPending={enter.isPending} enter={enter.mutate} /> },
            { id: 'token', label: t.withToken, content: <ByToken isPending={enter.isPending} enter={enter.mutate} /> },
          ]}
        />
        <p className="quiet small">{t.lost} <code>haft admin reset</code></p>
        <Button look="quiet" small onPress={() => choose(language === 'en' ? 'zh' : 'en')}>{t.other}</Button>
      </div>
    </main>
  );
}

/**
 * Uses the one-time link once, and removes it from the address first, so that it does not stay in the
 * history.
 */
function useLink(link: string | undefined, enter: (given: Credentials) => void): void {
  const isTaken = useRef(false);
  useEffect(() => {
    if (link === undefined || isTaken.current) return;
    isTaken.current = true;
    history.replaceState(history.state, '', '/login');
    enter({ link });
  }, [link, enter]);
}

interface WayProps {
  isPending: boolean;
  enter: (given: Credentials) => void;
}

function ByPassword({ isPending, enter }: WayProps) {
  const t = useTexts(TEXTS);
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    enter({ name, password });
  };
  return (
    <form onSubmit={submit} className={css.form}>
      <TextField label={t.name} value={name} onChange={setName} autoComplete="username" isRequired />
      <TextField label={t.password} value={password} onChange={setPassword} type="password" autoComplete="current-password" isRequired />
      <Button type="submit" look="primary" isPending={isPending}>{t.enter}</Button>
    </form>
  );
}

function ByToken({ isPending, enter }: WayProps) {
  const t = useTexts(TEXTS);
  const [token, setToken] = useState('');
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    enter({ token });
  };
  return (
    <form onSubmit={submit} className={css.form}>
      <TextField label={t.token} description={t.tokenHint} value={token} onChange={setToken} type="password" autoComplete="off" isMono isRequired />
      <Button type="submit" look="primary" isPending={isPending}>{t.enter}</Button>
    </form>
  );
}
