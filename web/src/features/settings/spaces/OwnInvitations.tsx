// Open invitations of the current user: accept or decline each.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { MailOpen } from 'lucide-react';

import { api, ask, errorText, type Schemas } from '@/api/client';
import { meQuery } from '@/api/me';
import { Button } from '@/components/Button';
import { ErrorNote } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { Facts, List, Row, When } from '../parts/List';
import { itemsOf, usePages } from '../parts/pages';
import { Section } from '../parts/Section';
import { ROLES } from '../texts';

type Invitation = Schemas['Invitation'];

const TEXTS = texts(
  {
    title: 'Invitations', about: 'Spaces that you were invited to. You join when you accept.', accept: 'Accept', decline: 'Decline', by: (name: string) => `from ${name}`, expires: (ago: string) => `expires ${ago}`,
    acceptOne: (name: string) => `Accept the invitation into ${name}`, declineOne: (name: string) => `Decline the invitation into ${name}`,
  },
  {
    title: '邀请', about: '邀请你加入的空间，接受后即加入。', accept: '接受', decline: '拒绝', by: (name: string) => `来自 ${name}`, expires: (ago: string) => `${ago}过期`,
    acceptOne: (name: string) => `接受加入 ${name} 的邀请`, declineOne: (name: string) => `拒绝加入 ${name} 的邀请`,
  },
);

/** Shows nothing while there is no open invitation. */
export function OwnInvitations() {
  const t = useTexts(TEXTS);
  const roles = useTexts(ROLES);
  const queries = useQueryClient();
  const invitations = usePages(['spaces', 'invitations'], (cursor) => (
    ask(api.GET('/api/invitations', { params: { query: { limit: 100, cursor } } }))
  ));
  const decide = useMutation({
    mutationFn: ({ id, accept }: { id: string; accept: boolean }): Promise<Invitation> => (
      accept
        ? ask(api.POST('/api/invitations/{id}/accept', { params: { path: { id } } }))
        : ask(api.DELETE('/api/invitations/{id}', { params: { path: { id } } }))
    ),
    onSettled: () => Promise.all([
      queries.invalidateQueries({ queryKey: ['spaces'] }), queries.invalidateQueries({ queryKey: meQuery.queryKey }),
    ]),
  });
  if (itemsOf(invitations).length === 0 && decide.error === null) return null;
  return (
    <Section title={t.title} about={t.about}>
      {decide.error !== null && <ErrorNote>{errorText(decide.error)}</ErrorNote>}
      <List label={t.title} pages={invitations} empty={null}>
        {(one) => (
          <Row
            key={one.spaceId} icon={<MailOpen />} title={one.spaceName}
            about={(
              <Facts>
                <span>{roles[one.role]}</span>
                {one.invitedBy !== null && <span>{t.by(one.invitedBy)}</span>}
                <When at={one.expiresAt} say={t.expires} />
              </Facts>
            )}
            actions={(
              <>
                <Button
                  small look="primary" aria-label={t.acceptOne(one.spaceName)} isDisabled={decide.isPending}
                  onPress={() => decide.mutate({ id: one.spaceId, accept: true })}
                >
                  {t.accept}
                </Button>
                <Button
                  small aria-label={t.declineOne(one.spaceName)} isDisabled={decide.isPending}
                  onPress={() => decide.mutate({ id: one.spaceId, accept: false })}
                >
                  {t.decline}
                </Button>
              </>
            )}
          />
        )}
      </List>
    </Section>
  );
}
