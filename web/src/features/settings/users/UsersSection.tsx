// All users of the server. For server admins.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Ellipsis, KeyRound, Plus, Power, ShieldCheck, ShieldOff, UserRound } from 'lucide-react';
import { useState } from 'react';

import { api, ask, errorText, type Schemas } from '@/api/client';
import { useMe } from '@/api/me';
import { Button, IconButton } from '@/components/Button';
import { Confirm } from '@/components/Dialog';
import { Menu } from '@/components/Menu';
import { Badge, ErrorNote } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { List, Row, When } from '../parts/List';
import { usePages } from '../parts/pages';
import { Section } from '../parts/Section';
import { SECTION_TEXTS } from '../sections';
import { COMMON } from '../texts';
import { NewUserDialog } from './NewUserDialog';
import { PasswordDialog } from './PasswordDialog';

type User = Schemas['User'];

const TEXTS = texts(
  {
    about: 'All users of this server, and its admins.', make: 'New user', operator: 'Server admin', off: 'Switched off',
    since: (ago: string) => `since ${ago}`, setPassword: 'Set password…', giveRight: 'Make server admin', takeRight: 'Remove as server admin',
    turnOff: 'Switch off…', turnOn: 'Switch on', offTitle: (name: string) => `Switch ${name} off?`, offVerb: 'Switch off',
    offText: 'They cannot sign in, and their tokens are refused until they are switched on again. Their data is not deleted.',
  },
  {
    about: '本服务器的所有账户及服务器管理员。', make: '新建用户', operator: '服务器管理员', off: '已停用',
    since: (ago: string) => `${ago}创建`, setPassword: '设置密码…', giveRight: '设为服务器管理员', takeRight: '取消服务器管理员',
    turnOff: '停用…', turnOn: '启用', offTitle: (name: string) => `停用 ${name}？`, offVerb: '停用',
    offText: '停用后无法登录，其令牌也会失效，直到再次启用。数据不会删除。',
  },
);

export default function UsersSection() {
  const t = useTexts(TEXTS);
  const names = useTexts(SECTION_TEXTS);
  const queries = useQueryClient();
  const [isMaking, setIsMaking] = useState(false);
  const [shutOut, setShutOut] = useState<User | null>(null);
  const [withPassword, setWithPassword] = useState<User | null>(null);
  const users = usePages(['users'], (cursor) => ask(api.GET('/api/users', { params: { query: { limit: 100, cursor } } })));
  const renew = () => queries.invalidateQueries({ queryKey: ['users'] });
  const change = useMutation({
    mutationFn: ({ id, body }: { id: string; body: Schemas['UserPatch'] }) => ask(api.PATCH('/api/users/{id}', { params: { path: { id } }, body })),
    onSettled: renew,
  });
  return (
    <Section
      title={names.users} about={t.about}
      actions={<Button look="primary" icon={<Plus aria-hidden />} onPress={() => setIsMaking(true)}>{t.make}</Button>}
    >
      {change.error !== null && shutOut === null && <ErrorNote>{errorText(change.error)}</ErrorNote>}
      <List label={names.users} pages={users} empty={null}>
        {(user) => (
          <UserRow
            key={user.id} user={user} change={(body) => change.mutate({ id: user.id, body })}
            setPassword={() => setWithPassword(user)} shutOut={() => setShutOut(user)}
          />
        )}
      </List>
      {isMaking && <NewUserDialog onClose={() => setIsMaking(false)} onMade={renew} />}
      {withPassword !== null && <PasswordDialog user={withPassword} onClose={() => setWithPassword(null)} />}
      <Confirm
        title={t.offTitle(shutOut?.name ?? '')} verb={t.offVerb} isOpen={shutOut !== null} onClose={() => setShutOut(null)}
        onConfirm={() => change.mutateAsync({ id: shutOut?.id ?? '', body: { isActive: false } })}
      >
        {t.offText}
      </Confirm>
    </Section>
  );
}

interface UserRowProps {
  user: User;
  change: (body: Schemas['UserPatch']) => void;
  setPassword: () => void;
  shutOut: () => void;
}

function UserRow({ user, change, setPassword, shutOut }: UserRowProps) {
  const t = useTexts(TEXTS);
  const common = useTexts(COMMON);
  const isMe = useMe().user.id === user.id;
  const right = user.isAdmin
    ? { id: 'take', label: t.takeRight, icon: <ShieldOff aria-hidden />, onAction: () => change({ isAdmin: false }) }
    : { id: 'give', label: t.giveRight, icon: <ShieldCheck aria-hidden />, onAction: () => change({ isAdmin: true }) };
  const power = user.isActive
    ? { id: 'off', label: t.turnOff, icon: <Power aria-hidden />, isDangerous: true, onAction: shutOut }
    : { id: 'on', label: t.turnOn, icon: <Power aria-hidden />, onAction: () => change({ isActive: true }) };
  const password = { id: 'password', label: t.setPassword, icon: <KeyRound aria-hidden />, onAction: setPassword };
  return (
    <Row
      icon={<UserRound />} title={user.name} about={<When at={user.createdAt} say={t.since} />}
      marks={(
        <>
          {isMe && <Badge tone="accent">{common.you}</Badge>}
          {user.isAdmin && <Badge>{t.operator}</Badge>}
          {!user.isActive && <Badge tone="bad">{t.off}</Badge>}
        </>
      )}
      actions={(
        <Menu
          label={common.actions(user.name)} trigger={<IconButton label={common.actions(user.name)}><Ellipsis aria-hidden /></IconButton>}
          // Server admins cannot deactivate themselves or drop their own rights.
          actions={isMe ? [password] : [password, right, power]}
        />
      )}
    />
  );
}
