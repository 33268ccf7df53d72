// Makes a token, and shows it this once.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ask, type Schemas } from '@/api/client';
import { type Role, useMe } from '@/api/me';
import { Dialog } from '@/components/Dialog';
import { Select, TextField } from '@/components/Field';
import { useWords, words } from '@/i18n/language';

import { Choice } from '../parts/Choice';
import { failures } from '../parts/failures';
import { Form } from '../parts/Form';
import { COMMON } from '../words';
import { DayField } from './DayField';
import { MadeToken } from './MadeToken';
import { SCOPES } from './words';

type Scope = Schemas['Scope'];
type Lifetime = 'never' | '30' | '90' | 'custom';

const WORDS = words(
  {
    title: 'New token', nameAbout: 'What it is for, so that you know it again.', scope: 'It may', make: 'Make token',
    expiry: 'It ends', never: 'Never', in30: 'In 30 days', in90: 'In 90 days', custom: 'On a day of your choice', day: 'Last day',
    made: 'Your new token',
  },
  {
    title: '新建令牌', nameAbout: '用途，便于日后辨认。', scope: '权限', make: '创建令牌',
    expiry: '有效期', never: '永不过期', in30: '30 天后', in90: '90 天后', custom: '自选日期', day: '最后一天',
    made: '你的新令牌',
  },
);

const ORDER: readonly Scope[] = ['read', 'call', 'admin'];
/** The widest scope that is of use to a role. */
const WIDEST: Record<Role, Scope> = { viewer: 'read', caller: 'call', editor: 'admin', admin: 'admin' };
const DAY = 24 * 60 * 60 * 1000;

interface NewTokenProps {
  onClose: () => void;
  onMade: () => void;
}

export function NewTokenDialog({ onClose, onMade }: NewTokenProps) {
  const t = useWords(WORDS);
  const [made, setMade] = useState<Schemas['CreatedToken'] | null>(null);
  if (made !== null) {
    return <Dialog title={t.made} isOpen onClose={onClose} isDismissable={false}><MadeToken token={made} onDone={onClose} /></Dialog>;
  }
  const keep = (token: Schemas['CreatedToken']) => {
    setMade(token);
    onMade();
  };
  return <Dialog title={t.title} isOpen onClose={onClose}><TokenForm onClose={onClose} onMade={keep} /></Dialog>;
}

function TokenForm({ onClose, onMade }: { onClose: () => void; onMade: (token: Schemas['CreatedToken']) => void }) {
  const t = useWords(WORDS);
  const common = useWords(COMMON);
  const scopes = useWords(SCOPES);
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
  // A token never allows more than what made it, nor than whose it is.
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
  // The whole of the day that was chosen, where the reader is.
  if (lifetime === 'custom') return new Date(`${day}T23:59:59`).toISOString();
  return new Date(Date.now() + Number(lifetime) * DAY).toISOString();
}
