// The user's tokens for this space, with which programs authenticate.
import { useQueryClient } from '@tanstack/react-query';
import { useLocation, useNavigate } from '@tanstack/react-router';
import { Plus, Ticket, Trash2 } from 'lucide-react';
import { useState } from 'react';

import { api, ask, type Schemas } from '@/api/client';
import { Button, IconButton } from '@/components/Button';
import { Confirm } from '@/components/Dialog';
import { Badge, Empty } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { Facts, List, Row, When } from '../parts/List';
import { usePages } from '../parts/pages';
import { Section } from '../parts/Section';
import { SECTION_TEXTS } from '../sections';
import { NewTokenDialog } from './NewTokenDialog';
import { SCOPES } from './texts';

type Token = Schemas['Token'];

const TEXTS = texts(
  {
    about: 'Your tokens in this space. A program with a token acts as you, within the scope of the token.',
    make: 'New token', revoke: 'Revoke', revokeOne: (name: string) => `Revoke ${name}`, used: (ago: string) => `used ${ago}`, unused: 'never used', expires: (when: string) => `expires ${when}`, expired: 'expired',
    forever: 'does not expire', emptyTitle: 'No tokens yet',
    empty: 'Create one for each program that calls tools, so that you can revoke each separately.',
    revokeTitle: (name: string) => `Revoke ${name}?`, revokeText: 'Programs that use it are refused from now on. This cannot be undone.',
  },
  {
    about: '你在此空间的令牌。程序凭令牌以你的身份、在其允许的范围内操作。',
    make: '新建令牌', revoke: '吊销', revokeOne: (name: string) => `吊销 ${name}`, used: (ago: string) => `${ago}使用过`, unused: '从未使用', expires: (when: string) => `${when}到期`, expired: '已过期',
    forever: '永不过期', emptyTitle: '还没有令牌',
    empty: '为每个调用工具的程序各建一个令牌，便于单独收回。',
    revokeTitle: (name: string) => `吊销 ${name}？`, revokeText: '使用它的程序将立即被拒绝。此操作无法撤销。',
  },
);

export default function TokensSection() {
  const t = useTexts(TEXTS);
  const names = useTexts(SECTION_TEXTS);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const hash = useLocation({ select: (current) => current.hash });
  const [isMaking, setIsMaking] = useState(hash === 'new');
  const [revoked, setRevoked] = useState<Token | null>(null);
  const tokens = usePages(['tokens'], (cursor) => ask(api.GET('/api/tokens', { params: { query: { limit: 50, cursor } } })));
  const renew = () => queries.invalidateQueries({ queryKey: ['tokens'] });
  const revoke = async (id: string) => {
    await ask(api.DELETE('/api/tokens/{id}', { params: { path: { id } } }));
    await renew();
  };
  const close = () => {
    setIsMaking(false);
    if (hash === 'new') void navigate({ to: '/settings', search: { tab: 'tokens' }, replace: true });
  };
  const make = <Button look="primary" icon={<Plus aria-hidden />} onPress={() => setIsMaking(true)}>{t.make}</Button>;
  return (
    <Section title={names.tokens} about={t.about} actions={make}>
      <List
        label={names.tokens} pages={tokens}
        empty={<Empty icon={<Ticket />} title={t.emptyTitle}>{t.empty}</Empty>}
      >
        {(token) => <TokenRow key={token.id} token={token} revoke={() => setRevoked(token)} />}
      </List>
      {isMaking && <NewTokenDialog onClose={close} onMade={() => void renew()} />}
      <Confirm
        title={t.revokeTitle(revoked?.name ?? '')} verb={t.revoke} isOpen={revoked !== null}
        onClose={() => setRevoked(null)} onConfirm={() => revoke(revoked?.id ?? '')}
      >
        {t.revokeText}
      </Confirm>
    </Section>
  );
}

function TokenRow({ token, revoke }: { token: Token; revoke: () => void }) {
  const t = useTexts(TEXTS);
  const scopes = useTexts(SCOPES);
  // Read once: the list is not a clock.
  const [now] = useState(() => Date.now());
  const isOver = token.expiresAt !== null && new Date(token.expiresAt).getTime() < now;
  return (
    <Row
      icon={<Ticket />} title={token.name}
      marks={<><Badge tone={token.scope === 'admin' ? 'warn' : 'neutral'}>{scopes[token.scope]}</Badge>{isOver && <Badge tone="bad">{t.expired}</Badge>}</>}
      about={(
        <Facts>
          <code>{`${token.prefix}…`}</code>
          <span>{token.lastUsedAt === null ? t.unused : <When at={token.lastUsedAt} say={t.used} />}</span>
          <span>{token.expiresAt === null ? t.forever : <When at={token.expiresAt} say={t.expires} />}</span>
        </Facts>
      )}
      actions={<IconButton label={t.revokeOne(token.name)} onPress={revoke}><Trash2 aria-hidden /></IconButton>}
    />
  );
}
