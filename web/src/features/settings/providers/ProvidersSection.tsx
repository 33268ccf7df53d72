// Where models come from, and whether each answers.
import { useQueryClient } from '@tanstack/react-query';
import { CloudCog, Plus } from 'lucide-react';
import { useState } from 'react';

import { api, ask, type Schemas } from '@/api/client';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { Confirm } from '@/components/Dialog';
import { Empty, Hint } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import { List } from '../parts/List';
import { usePages } from '../parts/pages';
import { Section } from '../parts/Section';
import { SECTION_WORDS } from '../sections';
import { COMMON } from '../words';
import { ProviderDialog } from './ProviderDialog';
import { ProviderRow } from './ProviderRow';

type Provider = Schemas['Provider'];

const WORDS = words(
  {
    about: 'Services and machines that run models. Agents name one of them as theirs, or use the first.',
    add: 'Add provider', mayNot: 'Admins of the space add and change providers.', emptyTitle: 'No providers yet',
    empty: 'Tools work without one. Add a provider when an agent shall have a model.',
    deleteTitle: (name: string) => `Delete the provider ${name}?`, deleteText: 'Agents that use it have no model until they are given another. Its key stays among the secrets.',
  },
  {
    about: '运行模型的服务和机器，供智能体选用；未指定时使用第一个。',
    add: '添加模型服务', mayNot: '空间管理员可以添加和修改模型服务。', emptyTitle: '还没有模型服务',
    empty: '工具无需模型服务即可使用。当智能体需要模型时再添加。',
    deleteTitle: (name: string) => `删除模型服务 ${name}？`, deleteText: '使用它的智能体将没有模型，直到重新指定。其密钥仍保留在密钥列表中。',
  },
);

export default function ProvidersSection() {
  const t = useWords(WORDS);
  const names = useWords(SECTION_WORDS);
  const common = useWords(COMMON);
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
      <List label={names.providers} pages={providers} empty={<Empty icon={<CloudCog />} title={t.emptyTitle}>{may && t.empty}</Empty>}>
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
