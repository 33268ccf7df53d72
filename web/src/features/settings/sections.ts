// The sections of the settings by topic; each is loaded when it is opened.
import { Bell, Boxes, CloudCog, FileClock, Files, KeyRound, type LucideIcon, Plug, Ticket, UserCog, UserRound, UsersRound } from 'lucide-react';
import { type ComponentType, lazy } from 'react';

import { texts } from '@/i18n/language';

export type SectionId =
  | 'connect' | 'tokens' | 'secrets' | 'providers' | 'alerts' | 'members' | 'changes' | 'files' | 'spaces' | 'account' | 'users';

export type GroupId = 'use' | 'space' | 'you' | 'server';

export interface SectionEntry {
  id: SectionId;
  group: GroupId;
  icon: LucideIcon;
  component: ComponentType;
}

export const SECTION_TEXTS = texts(
  {
    connect: 'Connect', tokens: 'Tokens', secrets: 'Secrets', providers: 'Providers', alerts: 'Alerts', members: 'Members',
    changes: 'Changes', files: 'Files', spaces: 'Spaces', account: 'Account', users: 'Users',
  },
  {
    connect: '接入', tokens: '令牌', secrets: '密钥', providers: '模型服务', alerts: '告警', members: '成员',
    changes: '变更记录', files: '文件', spaces: '空间', account: '账户', users: '用户',
  },
);

export const SECTIONS: readonly SectionEntry[] = [
  { id: 'connect', group: 'use', icon: Plug, component: lazy(() => import('./connect/ConnectSection')) },
  { id: 'tokens', group: 'use', icon: Ticket, component: lazy(() => import('./tokens/TokensSection')) },
  { id: 'secrets', group: 'space', icon: KeyRound, component: lazy(() => import('./secrets/SecretsSection')) },
  { id: 'providers', group: 'space', icon: CloudCog, component: lazy(() => import('./providers/ProvidersSection')) },
  { id: 'alerts', group: 'space', icon: Bell, component: lazy(() => import('./alerts/AlertsSection')) },
  { id: 'members', group: 'space', icon: UsersRound, component: lazy(() => import('./members/MembersSection')) },
  { id: 'changes', group: 'space', icon: FileClock, component: lazy(() => import('./changes/ChangesSection')) },
  { id: 'files', group: 'you', icon: Files, component: lazy(() => import('./files/FilesSection')) },
  { id: 'spaces', group: 'you', icon: Boxes, component: lazy(() => import('./spaces/SpacesSection')) },
  { id: 'account', group: 'you', icon: UserRound, component: lazy(() => import('./account/AccountSection')) },
  { id: 'users', group: 'server', icon: UserCog, component: lazy(() => import('./users/UsersSection')) },
];
