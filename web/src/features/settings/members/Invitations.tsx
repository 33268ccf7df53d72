// Open invitations into a space, for its admins to withdraw.
import { useQueryClient } from '@tanstack/react-query';
import { MailX, UserRoundPlus } from 'lucide-react';
import { useState } from 'react';

import { api, ask, type Schemas } from '@/api/client';
import { IconButton } from '@/components/Button';
import { Confirm } from '@/components/Dialog';
import { Badge } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { Facts, List, Row, When } from '../parts/List';
import { itemsOf, usePages } from '../parts/pages';
import { Section } from '../parts/Section';
import { ROLES } from '../texts';

type Invitation = Schemas['Invitation'];

const TEXTS = texts(
  {
    title: 'Open invitations', about: 'Invited users join the space when they accept.', withdraw: 'Withdraw', withdrawOne: (name: string) => `Withdraw the invitation of ${name}`,
    withdrawTitle: (name: string) => `Withdraw the invitation of ${name}?`, withdrawText: 'It can no longer be accepted. You can invite them again.',
    invited: (ago: string) => `invited ${ago}`, expires: (ago: string) => `expires ${ago}`,
  },
  {
    title: '待接受的邀请', about: '被邀请的用户接受后即加入空间。', withdraw: '撤回', withdrawOne: (name: string) => `撤回对 ${name} 的邀请`,
    withdrawTitle: (name: string) => `撤回对 ${name} 的邀请？`, withdrawText: '撤回后该邀请无法再被接受，你可以重新邀请。',
    invited: (ago: string) => `${ago}邀请`, expires: (ago: string) => `${ago}过期`,
  },
);

/** Shows nothing while there is no open invitation. */
export function Invitations({ space }: { space: string }) {
  const t = useTexts(TEXTS);
  const roles = useTexts(ROLES);
  const queries = useQueryClient();
  const [withdrawn, setWithdrawn] = useState<Invitation | null>(null);
  const invitations = usePages(['members', space, 'invitations'], (cursor) => (
    ask(api.GET('/api/spaces/{id}/invitations', { params: { path: { id: space }, query: { limit: 100, cursor } } }))
  ));
  const withdraw = async (user: string) => {
    await ask(api.DELETE('/api/spaces/{id}/invitations/{user}', { params: { path: { id: space, user } } }));
    await queries.invalidateQueries({ queryKey: ['members'] });
  };
  const name = withdrawn?.userName ?? '';
  if (itemsOf(invitations).length === 0) return null;
  return (
    <Section title={t.title} about={t.about}>
      <List label={t.title} pages={invitations} empty={null}>
        {(one) => (
          <Row
            key={one.userName} icon={<UserRoundPlus />} title={one.userName}
            about={<Facts><When at={one.createdAt} say={t.invited} /><When at={one.expiresAt} say={t.expires} /></Facts>}
            actions={(
              <>
                <Badge>{roles[one.role]}</Badge>
                <IconButton label={t.withdrawOne(one.userName)} onPress={() => setWithdrawn(one)}><MailX aria-hidden /></IconButton>
              </>
            )}
          />
        )}
      </List>
      <Confirm
        title={t.withdrawTitle(name)} verb={t.withdraw} isOpen={withdrawn !== null}
        onClose={() => setWithdrawn(null)} onConfirm={() => withdraw(name)}
      >
        {t.withdrawText}
      </Confirm>
    </Section>
  );
}
