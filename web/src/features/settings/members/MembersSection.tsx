// The members of this space and their roles.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { LogOut, Plus, UserRound, UserRoundMinus, UsersRound } from 'lucide-react';
import { useState } from 'react';

import { api, ask, errorText, type Schemas } from '@/api/client';
import { type Role, useMay, useMe } from '@/api/me';
import { Button, IconButton } from '@/components/Button';
import { Confirm } from '@/components/Dialog';
import { Badge, Empty, ErrorNote } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { Box, List, Row } from '../parts/List';
import { usePages } from '../parts/pages';
import { Section } from '../parts/Section';
import { SECTION_TEXTS } from '../sections';
import { goToSpace } from '../spaces/goToSpace';
import { SpaceDialog } from '../spaces/SpaceDialog';
import { COMMON, ROLES } from '../texts';
import { AddMemberDialog } from './AddMemberDialog';
import { Invitations } from './Invitations';
import { RoleSelect } from './RoleSelect';

type Member = Schemas['Member'];
type Joined = Member | Schemas['Invitation'];

const TEXTS = texts(
  {
    about: 'The members of this space and their roles.', add: 'Add member', removeOne: (name: string) => `Remove ${name}`, remove: 'Remove',
    leave: 'Leave', roleOf: (name: string) => `Role of ${name}`, nobody: 'No members',
    removeTitle: (name: string) => `Remove ${name} from this space?`,
    removeText: 'Their tokens for this space stop working, and their files here are deleted.',
    leaveTitle: 'Leave this space?', leaveText: 'Your tokens for it stop working, and your files here are deleted. An admin can add you again.',
    personalTitle: 'This is your personal space',
    personal: 'A personal space cannot be shared. Create a shared space to work with others.', makeShared: 'Create a shared space',
  },
  {
    about: '此空间的成员及其权限。', add: '添加成员', removeOne: (name: string) => `移除 ${name}`, remove: '移除',
    leave: '退出', roleOf: (name: string) => `${name} 的角色`, nobody: '没有成员',
    removeTitle: (name: string) => `将 ${name} 移出此空间？`,
    removeText: '其在此空间的令牌随即失效，文件也将清除。',
    leaveTitle: '退出此空间？', leaveText: '你在此空间的令牌随即失效，你的文件也将清除。管理员可以再次邀请你。',
    personalTitle: '这是你的个人空间',
    personal: '个人空间不能共享。若要与他人共用，请创建共享空间。', makeShared: '创建共享空间',
  },
);

export default function MembersSection() {
  const { space } = useMe();
  if (space === null) return null;
  return space.isPersonal ? <Alone /> : <Members space={space.id} />;
}

/** The empty state of a personal space. */
function Alone() {
  const t = useTexts(TEXTS);
  const names = useTexts(SECTION_TEXTS);
  const [isMaking, setIsMaking] = useState(false);
  const make = <Button look="primary" onPress={() => setIsMaking(true)}>{t.makeShared}</Button>;
  return (
    <Section title={names.members} about={t.about}>
      <Box><Empty icon={<UsersRound />} title={t.personalTitle} action={make}>{t.personal}</Empty></Box>
      {isMaking && <SpaceDialog onClose={() => setIsMaking(false)} onSaved={() => Promise.resolve()} />}
    </Section>
  );
}

function Members({ space }: { space: string }) {
  const t = useTexts(TEXTS);
  const names = useTexts(SECTION_TEXTS);
  const me = useMe();
  const queries = useQueryClient();
  const mayAdmin = useMay('admin');
  const [isAdding, setIsAdding] = useState(false);
  const [removed, setRemoved] = useState<Member | null>(null);
  const members = usePages(['members', space], (cursor) => (
    ask(api.GET('/api/spaces/{id}/members', { params: { path: { id: space }, query: { limit: 100, cursor } } }))
  ));
  const renew = () => queries.invalidateQueries({ queryKey: ['members'] });
  const give = useMutation({
    mutationFn: ({ user, role }: { user: string; role: Role }) => (
      ask<Joined>(api.PUT('/api/spaces/{id}/members/{user}', { params: { path: { id: space, user } }, body: { role } }))
    ),
    onSettled: renew,
  });
  const remove = async (user: string) => {
    await ask(api.DELETE('/api/spaces/{id}/members/{user}', { params: { path: { id: space, user } } }));
    if (user === me.user.id) goToSpace(null, 'spaces');
    else await renew();
  };
  const isLeaving = removed?.userId === me.user.id;
  const add = mayAdmin && <Button look="primary" icon={<Plus aria-hidden />} onPress={() => setIsAdding(true)}>{t.add}</Button>;
  return (
    <>
      <Section title={names.members} about={t.about} actions={add}>
        {give.error !== null && <ErrorNote>{errorText(give.error)}</ErrorNote>}
        <List label={names.members} pages={members} empty={<Empty icon={<UsersRound />} title={t.nobody}>{t.about}</Empty>}>
          {(member) => (
            <MemberRow
              key={member.userId} member={member} mayAdmin={mayAdmin} remove={() => setRemoved(member)}
              give={(role) => give.mutate({ user: member.userId, role })}
            />
          )}
        </List>
        {isAdding && <AddMemberDialog space={space} onClose={() => setIsAdding(false)} onAdded={renew} />}
        <Confirm
          title={isLeaving ? t.leaveTitle : t.removeTitle(removed?.name ?? '')} verb={isLeaving ? t.leave : t.remove} isOpen={removed !== null}
          onClose={() => setRemoved(null)} onConfirm={() => remove(removed?.userId ?? '')}
        >
          {isLeaving ? t.leaveText : t.removeText}
        </Confirm>
      </Section>
      {mayAdmin && <Invitations space={space} />}
    </>
  );
}

interface MemberRowProps {
  member: Member;
  mayAdmin: boolean;
  give: (role: Role) => void;
  remove: () => void;
}

function MemberRow({ member, mayAdmin, give, remove }: MemberRowProps) {
  const t = useTexts(TEXTS);
  const common = useTexts(COMMON);
  const roles = useTexts(ROLES);
  const isMe = useMe().user.id === member.userId;
  return (
    <Row
      icon={<UserRound />} title={member.name} marks={isMe && <Badge tone="accent">{common.you}</Badge>} about={roles[`${member.role}About`]}
      actions={(
        <>
          {mayAdmin && !isMe
            ? <RoleSelect label={t.roleOf(member.name)} isLabelHidden value={member.role} onChange={give} />
            : <Badge>{roles[member.role]}</Badge>}
          {isMe && <Button small look="quiet" icon={<LogOut aria-hidden />} onPress={remove}>{t.leave}</Button>}
          {mayAdmin && !isMe && <IconButton label={t.removeOne(member.name)} onPress={remove}><UserRoundMinus aria-hidden /></IconButton>}
        </>
      )}
    />
  );
}
