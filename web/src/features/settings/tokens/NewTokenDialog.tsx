// Creates a token and shows it once.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ask, type Schemas } from '@/api/client';
import { type Role, useMe } from '@/api/me';
import { Dialog } from '@/components/Dialog';
import { Select, TextField } from '@/components/Field';
import { texts, useTexts } from '@/i18n/language';

import { Choice } from '../parts/Choice';
import { failures } from '../parts/failures';
import { Form } from '../parts/Form';
import { COMMON } from '../texts';
import { DayField } from './DayField';
import { MadeToken } from './MadeToken';
import { SCOPES } from './texts';

type Scope = Schemas['Scope'];
type Lifetime = 'never' | '30' | '90' | 'custom';

const TEXTS = texts(
  {
    title: 'New token', nameAbout: 'For example, the program that uses it.', scope: 'Scope', make: 'Create token',
    expiry: 'Expires', never: 'Never', in30: 'In 30 days', in90: 'In 90 days', custom: 'On a chosen day', day: 'Last day',
    made: 'Your new token',
  },
  {
    title: '新建令牌', nameAbout: '用途，便于日后辨认。', scope: '权限', make: '创建令牌',
    expiry: '有效期', never: '永不过期', in30: '30 天后', in90: '90 天后', custom: '自选日期', day: '最后一天',
    made: '你的新令牌',
  },
);

const ORDER: readonly Scope[] = ['read', 'call', 'admin'];
/** The widest scope that is useful to a role. */
const WIDEST: Record<Role, Scope> = { viewer: 'read', caller: 'call', editor: 'admin', admin: 'admin' };
const DAY = 24 * 60 * 60 * 1000;

interface NewTokenProps {
  onClose: () => void;
  onMade: () => void;
}

export function NewTokenDialog({ onClose, onMade }: NewTokenProps) {
  const t = useTexts(TEXTS);
  const [made, setMade] = useState<Schemas['CreatedToken'] | null>(null);
  if (made !== null) {
    return <Dialog title={t.made} isOpen onClose={onClose} isDismissable={false}><MadeToken token={made} onDone={onClose} /></Dialog>;
  }
  const showToken = (token: Schemas['CreatedToken']) => {
    setMade(token);
    onMade();
  };
  return <Dialog title={t.title} isOpen onClose={onClose}><TokenForm onClose={onClose} onMade={showToken} /></Dialog>;
}

function TokenForm({ onClose, onMade }: { onClose: () => void; onMade: (token: Schemas['CreatedToken']) => void }) {
  const t = useTexts(TEXTS);
  const common = useTexts(COMMON);
  const scopes = useTexts(SCOPES);
  const me = useMe();
  const [name, setName] = useState('');
  const [scope, setScope] = useState<Scope>(me.role === 'viewer' ? 'read' : 'call');
  const [lifetime, setLifetime] = useState<Lifetime>('90');
  const [day, setDay] = useState('');
  const save = useMutation({
    mutationFn: () => ask(api.POST('/api/tokens', {
      body: { name: name.trim(), scope, expiresAt: endOf(lifetime, day), spaceId: me.space?.id },
    })),
    onSuccess: onMade,
  });
  const failed = failures(save.error, ['name', 'expiresAt']);
  // A token has at most the scope of the session that creates it, and of its user's role.
  const allowed = ORDER.slice(0, Math.min(ORDER.indexOf(me.scope), ORDER.indexOf(WIDEST[me.role])) + 1);
  return (
    <Form
      verb={t.make} failed={failed} error={save.error} isPending={save.isPending}
      isDisabled={lifetime === 'custom' && day === ''} onSubmit={() => save.mutate()} onCancel={onClose}
    >
      <TextField
        label={common.name} description={t.nameAbout} value={name} onChange={setName} error={failed.at('name')}
        isRequired autoFocus autoComplete="off"
      />
      <Choice
        label={t.scope} value={scope} onChange={setScope} isTall
        options={allowed.map((one) => ({ value: one, label: scopes[one], about: scopes[`${one}About`] }))}
      />
      <Select
        label={t.expiry} value={lifetime} onChange={setLifetime} error={lifetime === 'custom' ? undefined : failed.at('expiresAt')}
        options={[
          { value: '30', label: t.in30 }, { value: '90', label: t.in90 },
          { value: 'custom', label: t.custom }, { value: 'never', label: t.never },
        ]}
      />
      {lifetime === 'custom' && <DayField label={t.day} value={day} onChange={setDay} error={failed.at('expiresAt')} />}
    </Form>
  );
}

function endOf(lifetime: Lifetime, day: string): string | null {
  if (lifetime === 'never') return null;
  // Expires at the end of the chosen day in the reader's time zone.
  if (lifetime === 'custom') return new Date(`${day}T23:59:59`).toISOString();
  return new Date(Date.now() + Number(lifetime) * DAY).toISOString();
}
