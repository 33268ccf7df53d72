// The model providers of the space, with a test for each.
import { useQueryClient } from '@tanstack/react-query';
import { CloudCog, PlayCircle, Plus } from 'lucide-react';
import { useState } from 'react';

import { api, ask, errorText, type Schemas } from '@/api/client';
import { useMay } from '@/api/me';
import { useSample } from '@/api/sample';
import { Button } from '@/components/Button';
import { Confirm } from '@/components/Dialog';
import { Empty, ErrorNote, Hint } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { List } from '../parts/List';
import { usePages } from '../parts/pages';
import { Section } from '../parts/Section';
import { SECTION_TEXTS } from '../sections';
import { COMMON } from '../texts';
import { ProviderDialog } from './ProviderDialog';
import { ProviderRow } from './ProviderRow';
import css from './ProvidersSection.module.css';

type Provider = Schemas['Provider'];

const TEXTS = texts(
  {
    about: 'Model providers. An agent uses the one you pick, or the first.',
    add: 'Add provider', mayNot: 'Admins of the space add and change providers.', emptyTitle: 'No providers yet',
    empty: 'Tools work without one. Agents need a provider for their model.', first: 'Add the first one', sample: 'Try the scripted example',
    sampleText: 'The example works without network access. It is not a model: it follows a script, and really calls the calculator.',
    deleteTitle: (name: string) => `Delete the provider ${name}?`, deleteText: 'Agents that use it have no model until you choose another provider. Its key remains in the secrets.',
  },
  {
    about: '运行模型的服务和机器，供智能体选用；未指定时使用第一个。',
    add: '添加模型服务', mayNot: '空间管理员可以添加和修改模型服务。', emptyTitle: '还没有模型服务',
    empty: '工具无需模型服务即可使用。当智能体需要模型时再添加。', first: '添加第一个', sample: '试用脚本示例',
    sampleText: '示例无需网络。它不是模型：按脚本回答，但会真实调用计算器。',
    deleteTitle: (name: string) => `删除模型服务 ${name}？`, deleteText: '使用它的智能体将没有模型，直到重新指定。其密钥仍保留在密钥列表中。',
  },
);

export default function ProvidersSection() {
  const t = useTexts(TEXTS);
  const names = useTexts(SECTION_TEXTS);
  const common = useTexts(COMMON);
  const queries = useQueryClient();
  const may = useMay('admin');
  const [edited, setEdited] = useState<Provider | 'new' | null>(null);
  const [deleted, setDeleted] = useState<Provider | null>(null);
  const providers = usePages(['providers'], (cursor) => ask(api.GET('/api/providers', { params: { query: { limit: 50, cursor } } })));
  const remove = async (id: string) => {
    await ask(api.DELETE('/api/providers/{id}', { params: { path: { id } } }));
    await queries.invalidateQueries({ queryKey: ['providers'] });
  };
  const add = may && <Button look="primary" icon={<Plus aria-hidden />} onPress={() => setEdited('new')}>{t.add}</Button>;
  return (
    <Section title={names.providers} about={t.about} actions={add}>
      {!may && <Hint>{t.mayNot}</Hint>}
      <List label={names.providers} pages={providers} empty={<None may={may} add={() => setEdited('new')} />}>
        {(provider) => (
          <ProviderRow
            key={provider.id} provider={provider} may={may}
            edit={() => setEdited(provider)} remove={() => setDeleted(provider)}
          />
        )}
      </List>
      {edited !== null && <ProviderDialog provider={edited === 'new' ? undefined : edited} onClose={() => setEdited(null)} />}
      <Confirm
        title={t.deleteTitle(deleted?.name ?? '')} verb={common.remove} isOpen={deleted !== null}
        onClose={() => setDeleted(null)} onConfirm={() => remove(deleted?.id ?? '')}
      >
        {t.deleteText}
      </Confirm>
    </Section>
  );
}

function None({ may, add }: { may: boolean; add: () => void }) {
  const t = useTexts(TEXTS);
  const sample = useSample();
  const actions = (
    <>
      <div className={css.first}>
        <Button look="primary" icon={<Plus aria-hidden />} onPress={add}>{t.first}</Button>
        <Button icon={<PlayCircle aria-hidden />} isPending={sample.isPending} onPress={() => sample.mutate(undefined)}>{t.sample}</Button>
      </div>
      <p className={css.firstNote}>{t.sampleText}</p>
      {sample.error !== null && <ErrorNote>{errorText(sample.error)}</ErrorNote>}
    </>
  );
  return <Empty icon={<CloudCog />} title={t.emptyTitle} action={may && actions}>{may && t.empty}</Empty>;
}
