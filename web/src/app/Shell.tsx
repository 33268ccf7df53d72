// The frame of every page: navigation, menu of spaces, and menu of the user.
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import {
  Activity, Bot, ChevronsUpDown, Ellipsis, Hammer, Languages, LayoutDashboard, ListTodo, LogOut, MessagesSquare, Moon, Settings, Sun, SunMoon, UserRoundCheck,
} from 'lucide-react';
import { type ReactNode, Suspense } from 'react';
import { Button as AriaButton } from 'react-aria-components';

import { waitingCountQuery } from '@/api/approvals';
import { chooseSpace } from '@/api/client';
import { useStreamState } from '@/api/liveEvents';
import { useMe } from '@/api/me';
import { Button, IconButton } from '@/components/Button';
import { Logo } from '@/components/Logo';
import { Menu } from '@/components/Menu';
import { Loading } from '@/components/Page';
import { useIsNarrow } from '@/components/useIsNarrow';
import { useFormat } from '@/i18n/format';
import { texts, useLanguage, useTexts } from '@/i18n/language';

import { LiveEvents } from './LiveEvents';
import { PasswordBanner } from './PasswordBanner';
import css from './Shell.module.css';
import { signOut } from './signOut';
import { chooseTheme, type Theme, useTheme } from './theme';

const TEXTS = texts(
  {
    overview: 'Overview', chat: 'Chat', tools: 'Tools', calls: 'Calls', tasks: 'Tasks', approvals: 'Approvals', agents: 'Agents', settings: 'Settings', pages: 'Pages',
    waiting: 'waiting', more: 'Menu',
    space: 'Space', personal: 'Personal', signOut: 'Sign out', language: '中文', theme: 'Theme', system: 'System',
    light: 'Light', dark: 'Dark', skip: 'Skip to content', lost: 'Connection lost. Reconnecting…',
  },
  {
    overview: '概览', chat: '对话', tools: '工具', calls: '调用', tasks: '任务', approvals: '审批', agents: '智能体', settings: '设置', pages: '页面',
    waiting: '项待处理', more: '菜单',
    space: '空间', personal: '个人', signOut: '退出登录', language: 'English', theme: '主题', system: '跟随系统',
    light: '浅色', dark: '深色', skip: '跳到内容', lost: '连接已断开，正在重试…',
  },
);

export function Shell() {
  return <LiveEvents><Frame /></LiveEvents>;
}

function Frame() {
  const t = useTexts(TEXTS);
  const state = useStreamState();
  const waiting = useWaiting();
  const isNarrow = useIsNarrow();
  const pages: PageLink[] = [
    { to: '/', label: t.overview, icon: <LayoutDashboard aria-hidden />, isFirst: true },
    { to: '/chat', label: t.chat, icon: <MessagesSquare aria-hidden />, isFirst: true },
    { to: '/tools', label: t.tools, icon: <Hammer aria-hidden />, isFirst: true },
    { to: '/calls', label: t.calls, icon: <Activity aria-hidden /> },
    { to: '/tasks', label: t.tasks, icon: <ListTodo aria-hidden /> },
    { to: '/approvals', label: t.approvals, icon: <UserRoundCheck aria-hidden />, isFirst: true, count: waiting },
    { to: '/agents', label: t.agents, icon: <Bot aria-hidden /> },
    { to: '/settings', label: t.settings, icon: <Settings aria-hidden /> },
  ];
  const isBeside = (page: PageLink) => !isNarrow || page.isFirst === true;
  return (
    <div className={css.shell}>
      <a href="#content" className={css.skip}>{t.skip}</a>
      <aside className={css.side}>
        <div className={css.brand}><Logo size={22} /> Haft</div>
        <SpaceSwitch />
        <nav aria-label={t.pages} className={css.nav}>
          {pages.filter(isBeside).map(({ to, label, icon, count = '' }) => (
            <Link key={to} to={to} activeOptions={{ exact: to === '/', includeSearch: false }} className={css.link ?? ''}>
              {icon}<span>{label}</span>
              {count !== '' && <span className={css.count}>{count} <span className="hidden">{t.waiting}</span></span>}
            </Link>
          ))}
          {isNarrow && <MorePages pages={pages.filter((page) => !isBeside(page))} />}
        </nav>
        <Self />
      </aside>
      <main id="content" tabIndex={-1} className={css.main}>
        {state === 'lost' && <div className={css.lost} role="status">{t.lost}</div>}
        <PasswordBanner />
        <Suspense fallback={<Loading />}><Outlet /></Suspense>
      </main>
    </div>
  );
}

interface PageLink {
  to: string;
  label: string;
  icon: ReactNode;
  /** True for the pages in the bottom bar of a phone; the others are in its "More" menu. */
  isFirst?: boolean;
  /** The number of waiting items, formatted. */
  count?: string;
}

/** The menu of pages that do not fit into the bottom bar of a phone. */
function MorePages({ pages }: { pages: readonly PageLink[] }) {
  const t = useTexts(TEXTS);
  const navigate = useNavigate();
  const path = useLocation({ select: ({ pathname }) => pathname });
  const open = pages.find(({ to }) => path === to || path.startsWith(`${to}/`));
  return (
    <Menu
      label={t.more}
      trigger={(
        <AriaButton className={css.link ?? ''} {...(open === undefined ? {} : { 'data-status': 'active' })}>
          <Ellipsis aria-hidden /><span>{t.more}</span>
        </AriaButton>
      )}
      actions={pages.map(({ to, label, icon }) => ({ id: to, label, icon, isSelected: to === open?.to, onAction: () => void navigate({ to }) }))}
    />
  );
}

/** The number of waiting approvals, formatted; empty if there are none. */
function useWaiting(): string {
  const { data = 0 } = useQuery(waitingCountQuery);
  const format = useFormat();
  return data === 0 ? '' : format.count(data);
}

function SpaceSwitch() {
  const t = useTexts(TEXTS);
  const me = useMe();
  const name = (space: { name: string; isPersonal: boolean }) => (space.isPersonal ? t.personal : space.name);
  if (me.space === null) return null;
  const go = (id: string) => {
    chooseSpace(id);
    // All shown data belongs to the other space.
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
  const t = useTexts(TEXTS);
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
