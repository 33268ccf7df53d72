// One provider, and the result of testing it.
import { useMutation } from '@tanstack/react-query';
import { CloudCog, Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';

import { api, ask, errorText, type Schemas } from '@/api/client';
import { Button, IconButton } from '@/components/Button';
import { Badge, ErrorNote } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { GoodNote } from '../parts/GoodNote';
import { Facts, Row } from '../parts/List';
import { COMMON } from '../texts';
import { ADDRESSES, KIND_TEXTS } from './kinds';
import css from './ProviderRow.module.css';

const TEXTS = texts(
  {
    test: 'Test', testOne: (name: string) => `Test ${name}`, noKey: 'no key', models: (count: number) => (count === 1 ? '1 model chosen' : `${count} models chosen`),
    all: 'all models', has: 'Available models', environment: 'Environment', found: 'Discovered', fixed: 'read-only here', askOne: (model: string) => `Ask ${model}`,
    askText: 'Press a model to test it.',
  },
  {
    test: '测试', testOne: (name: string) => `测试 ${name}`, noKey: '无密钥', models: (count: number) => `已选 ${count} 个模型`,
    all: '全部模型', has: '可用模型', environment: '环境变量', found: '本机发现', fixed: '不可在此修改', askOne: (model: string) => `询问 ${model}`,
    askText: '点击某个模型，让它回答一个词。',
  },
);

export interface ProviderRowProps {
  provider: Schemas['Provider'];
  may: boolean;
  edit: () => void;
  remove: () => void;
}

export function ProviderRow({ provider, may, edit, remove }: ProviderRowProps) {
  const t = useTexts(TEXTS);
  const common = useTexts(COMMON);
  const kinds = useTexts(KIND_TEXTS);
  const { id, name, kind, baseUrl, apiKey, models, source, variable } = provider;
  const isOwn = source === 'stored';
  const test = useMutation({ mutationFn: (model: string | null) => ask(api.POST('/api/providers/{id}/test', { params: { path: { id } }, body: { model } })) });
  const address = baseUrl ?? ADDRESSES[kind];
  return (
    <Row
      icon={<CloudCog />} title={name} marks={<><Badge>{kinds[kind]}</Badge>{!isOwn && <Badge tone="accent">{t[source]}</Badge>}</>}
      about={(
        <Facts>
          {address !== '' && <span>{address}</span>}
          {kind === 'scripted' && models.length === 0 && <span>{kinds.scriptedAbout}</span>}
          {kind !== 'scripted' && isOwn && <span>{apiKey === null ? t.noKey : <code>{apiKey}</code>}</span>}
          {variable !== undefined && variable !== null && <span><code>{variable}</code></span>}
          {!isOwn && <span>{t.fixed}</span>}
          {(kind !== 'scripted' || models.length > 0) && <span>{models.length === 0 ? t.all : t.models(models.length)}</span>}
        </Facts>
      )}
      actions={may && (
        <>
          <Button small aria-label={t.testOne(name)} isPending={test.isPending} onPress={() => test.mutate(null)}>{t.test}</Button>
          {isOwn && <IconButton label={common.editOne(name)} onPress={edit}><Pencil aria-hidden /></IconButton>}
          {isOwn && <IconButton label={common.removeOne(name)} onPress={remove}><Trash2 aria-hidden /></IconButton>}
        </>
      )}
      below={<Outcome error={test.error} outcome={test.data} listed={models} testedModel={test.variables ?? null} isPending={test.isPending} onAsk={(model) => test.mutate(model)} />}
    />
  );
}

interface OutcomeProps {
  error: unknown;
  outcome: Schemas['ProviderTest'] | undefined;
  listed: readonly string[];
  /** The tested model; null if only the provider was tested. */
  testedModel: string | null;
  isPending: boolean;
  onAsk: (model: string) => void;
}

function Outcome({ error, outcome, listed, testedModel, isPending, onAsk }: OutcomeProps) {
  const t = useTexts(TEXTS);
  const [testedModels, setTestedModels] = useState<readonly string[]>([]);
  // The models come from a test of the provider, not from one of its models.
  if (outcome !== undefined && outcome.models.length > 0 && outcome.models !== testedModels) setTestedModels(outcome.models);
  const models = testedModels.length > 0 ? testedModels : listed;
  if (outcome === undefined && error === null) return null;
  const said = error === null ? outcome?.message : errorText(error);
  return (
    <>
      {!isPending && (outcome?.ok === true ? <GoodNote>{said}</GoodNote> : <ErrorNote>{said}</ErrorNote>)}
      {models.length > 0 && (
        <div className={css.ask}>
          <p className="quiet small">{t.askText}</p>
          <ul className={css.models} aria-label={t.has}>
            {models.map((model) => (
              <li key={model}>
                <Button small aria-label={t.askOne(model)} isPending={isPending && testedModel === model} isDisabled={isPending && testedModel !== model} onPress={() => onAsk(model)}>
                  {model}
                </Button>
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}
