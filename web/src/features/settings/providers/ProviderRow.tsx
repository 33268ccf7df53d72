// One provider, and what came of asking it.
import { useMutation } from '@tanstack/react-query';
import { CloudCog, Pencil, Trash2 } from 'lucide-react';

import { api, ask, type Schemas, wordsOf } from '@/api/client';
import { Button, IconButton } from '@/components/Button';
import { Badge, ErrorNote } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import { GoodNote } from '../parts/GoodNote';
import { Facts, Row } from '../parts/List';
import { COMMON } from '../words';
import { ADDRESSES, KIND_WORDS } from './kinds';
import css from './ProviderRow.module.css';

const WORDS = words(
  {
    test: 'Test', testOne: (name: string) => `Test ${name}`, noKey: 'no key', models: (count: number) => (count === 1 ? '1 model chosen' : `${count} models chosen`),
    all: 'all of its models', found: 'Models it has',
  },
  {
    test: '测试', testOne: (name: string) => `测试 ${name}`, noKey: '无密钥', models: (count: number) => `已选 ${count} 个模型`,
    all: '全部模型', found: '可用模型',
  },
);

export interface ProviderRowProps {
  provider: Schemas['Provider'];
  may: boolean;
  edit: () => void;
  remove: () => void;
}

export function ProviderRow({ provider, may, edit, remove }: ProviderRowProps) {
  const t = useWords(WORDS);
  const common = useWords(COMMON);
  const kinds = useWords(KIND_WORDS);
  const { id, name, kind, baseUrl, apiKey, models } = provider;
  const test = useMutation({ mutationFn: () => ask(api.POST('/api/providers/{id}/test', { params: { path: { id } } })) });
  const address = baseUrl ?? ADDRESSES[kind];
  return (
    <Row
      icon={<CloudCog />} title={name} marks={<Badge>{kinds[kind]}</Badge>}
      about={(
        <Facts>
          {address !== '' && <span>{address}</span>}
          {kind === 'scripted' && models.length === 0 && <span>{kinds.scriptedAbout}</span>}
          {kind !== 'scripted' && <span>{apiKey === null ? t.noKey : <code>{apiKey}</code>}</span>}
          {(kind !== 'scripted' || models.length > 0) && <span>{models.length === 0 ? t.all : t.models(models.length)}</span>}
        </Facts>
      )}
      actions={may && (
        <>
          <Button small aria-label={t.testOne(name)} isPending={test.isPending} onPress={() => test.mutate()}>{t.test}</Button>
          <IconButton label={common.editOne(name)} onPress={edit}><Pencil aria-hidden /></IconButton>
          <IconButton label={common.removeOne(name)} onPress={remove}><Trash2 aria-hidden /></IconButton>
        </>
      )}
      below={<Outcome error={test.error} outcome={test.data} />}
    />
  );
}

function Outcome({ error, outcome }: { error: unknown; outcome: Schemas['ProviderTest'] | undefined }) {
  const t = useWords(WORDS);
  if (error !== null) return <ErrorNote>{wordsOf(error)}</ErrorNote>;
  if (outcome === undefined) return null;
  if (!outcome.ok) return <ErrorNote>{outcome.message}</ErrorNote>;
  return (
    <GoodNote>
      {outcome.message}
      {outcome.models.length > 0 && (
        <ul className={css.models} aria-label={t.found}>
          {outcome.models.map((model) => <li key={model}><code>{model}</code></li>)}
        </ul>
      )}
    </GoodNote>
  );
}
