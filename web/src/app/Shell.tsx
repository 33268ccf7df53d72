// The frame of every page: where one can go, in which space one is, and who one is.
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, Outlet } from '@tanstack/react-router';
import {
  Activity, Bot, ChevronsUpDown, Hammer, Languages, LayoutDashboard, ListTodo, LogOut, MessagesSquare, Moon, Settings, Sun, SunMoon, UserRoundCheck,
} from 'lucide-react';
import { type ReactNode, Suspense } from 'react';

import { waitingCountQuery } from '@/api/approvals';
import { chooseSpace } from '@/api/client';
import { useStreamState } from '@/api/live';
import { useMe } from '@/api/me';
import { Button, IconButton } from '@/components/Button';
import { Menu } from '@/components/Menu';
import { Loading } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { useLanguage, useWords, words } from '@/i18n/language';

import { Live } from './Live';
import css from './Shell.module.css';
import { signOut } from './signOut';
import { chooseTheme, type Theme, useTheme } from './theme';

const WORDS = words(
  {
    overview: 'Overview', chat: 'Chat', tools: 'Tools', calls: 'Calls', tasks: 'Tasks', approvals: 'Approvals', agents: 'Agents', settings: 'Settings', pages: 'Pages',
    waiting: (label: string, count: string) => `${label}: ${count} waiting`,
    space: 'Space', personal: 'Personal', signOut: 'Sign out', language: '中文', theme: 'Theme', system: 'System',
    light: 'Light', dark: 'Dark', skip: 'Skip to content', lost: 'Connection lost. Trying again…',
  },
  {
    overview: '概览', chat: '对话', tools: '工具', calls: '调用', tasks: '任务', approvals: '审批', agents: '智能体', settings: '设置', pages: '页面',
    waiting: (label: string, count: string) => `${label}：${count} 项待处理`,
    space: '空间', personal: '个人', signOut: '退出登录', language: 'English', theme: '主题', system: '跟随系统',
    light: '浅色', dark: '深色', skip: '跳到内容', lost: '连接已断开，正在重试…',
  },
);

const APPROVALS = '/approvals';

export function Shell() {
  return <Live><Frame /></Live>;
}

function Frame() {
  const t = useWords(WORDS);
  const state = useStreamState();
  const waiting = useWaiting();
  const pages: [string, string, ReactNode][] = [
    ['/', t.overview, <LayoutDashboard key="i" aria-hidden />],
    ['/chat', t.chat, <MessagesSquare key="i" aria-hidden />],
    ['/tools', t.tools, <Hammer key="i" aria-hidden />],
    ['/calls', t.calls, <Activity key="i" aria-hidden />],
    ['/tasks', t.tasks, <ListTodo key="i" aria-hidden />],
    [APPROVALS, t.approvals, <UserRoundCheck key="i" aria-hidden />],
    ['/agents', t.agents, <Bot key="i" aria-hidden />],
    ['/settings', t.settings, <Settings key="i" aria-hidden />],
  ];
  return (
    <div className={css.shell}>
      <a href="#content" className={css.skip}>{t.skip}</a>
      <aside className={css.side}>
        <div className={css.brand}><img src="/favicon.svg" alt="" width={22} height={22} /> Haft</div>
        <SpaceSwitch />
        <nav aria-label={t.pages} className={css.nav}>
          {pages.map(([to, label, icon]) => (
            <Link
              key={to} to={to} activeOptions={{ exact: to === '/', includeSearch: false }} className={css.link ?? ''}
              {...(to === APPROVALS && waiting !== '' ? { 'aria-label': t.waiting(label, waiting) } : {})}
            >
              {icon}<span>{label}</span>
              {to === APPROVALS && waiting !== '' && <span className={css.count} aria-hidden>{waiting}</span>}
            </Link>
          ))}
        </nav>
        <Self />
      </aside>
      <main id="content" tabIndex={-1} className={css.main}>
        {state === 'lost' && <div className={css.lost} role="status">{t.lost}</div>}
        <Suspense fallback={<Loading />}><Outlet /></Suspense>
      </main>
    </div>
  );
}

/** How many calls wait for a person; nothing where none does. */
function useWaiting(): string {
  const { data = 0 } = useQuery(waitingCountQuery);
  const format = useFormat();
  return data === 0 ? '' : format.count(data);
}

function SpaceSwitch() {
  const t = useWords(WORDS);
  const me = useMe();
  const name = (space: { name: string; isPersonal: boolean }) => (space.isPersonal ? t.personal : space.name);
  if (me.space === null) return null;
  const go = (id: string) => {
    chooseSpace(id);
    // Everything that is shown belongs to the other space.
    location.assign('/');
  };
  return (
    <Menu
      label={t.space}
      trigger={<Button look="quiet" small icon={<ChevronsUpDown aria-hidden />}>{name(me.space)}</Button>}
      actions={me.spaces.map((space) => ({
        id: space.id, label: name(space), isSelected: space.id === me.space?.id, onAction: () => go(space.id),
      }))}
    />
  );
}

function Self() {
  const t = useWords(WORDS);
  const me = useMe();
  const leaving = useMutation({ mutationFn: signOut });
  const { language, choose } = useLanguage();
  const theme = useTheme();
  const icons: Record<Theme, ReactNode> = { system: <SunMoon aria-hidden />, light: <Sun aria-hidden />, dark: <Moon aria-hidden /> };
  const themes = (['system', 'light', 'dark'] as const).map((one) => ({
    id: one, label: t[one], icon: icons[one], isSelected: one === theme, onAction: () => chooseTheme(one),
  }));
  return (
    <div className={css.self}>
      <span className={css.name} title={me.user.name}>{me.user.name}</span>
      <IconButton label={t.language} onPress={() => choose(language === 'en' ? 'zh' : 'en')}><Languages aria-hidden /></IconButton>
      <Menu label={t.theme} trigger={<IconButton label={t.theme}>{icons[theme]}</IconButton>} actions={themes} />
      <IconButton label={t.signOut} isPending={leaving.isPending} onPress={() => leaving.mutate()}><LogOut aria-hidden /></IconButton>
    </div>
  );
}
