// The list of the agents in the space, with search.
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Bot, Plus } from 'lucide-react';
import { useState } from 'react';

import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { SearchField } from '@/components/Field';
import { Loading, LoadFailed, Page } from '@/components/Page';
import { useDebounced } from '@/components/useDebounced';
import { useTexts, texts } from '@/i18n/language';

import { AgentCards } from './AgentCards';
import css from './AgentsPage.module.css';
import { FirstAgent } from './FirstAgent';
import { agentsQuery } from './queries';

const TEXTS = texts(
  {
    title: 'Agents', about: 'A prompt, a model and the tools it may call.', create: 'New agent', search: 'Search agents',
    more: 'Show more', nothing: (q: string) => `No agent has “${q}” in its name or description.`,
  },
  {
    title: '智能体', about: '一段提示词、一个模型，以及它可以调用的工具。', create: '新建智能体', search: '搜索智能体',
    more: '显示更多', nothing: (q: string) => `没有名称或描述包含“${q}”的智能体。`,
  },
);

export function AgentsPage() {
  const t = useTexts(TEXTS);
  const mayEdit = useMay('editor');
  const navigate = useNavigate();
  const [search, setSearch] = useState('');
  const q = useDebounced(search.trim());
  const list = useInfiniteQuery({ ...agentsQuery(q), placeholderData: (before) => before });
  const agents = list.data?.pages.flatMap((page) => page.items) ?? [];
  const isBare = list.isSuccess && agents.length === 0 && q === '' && search === '';
  const create = () => void navigate({ to: '/agents/$id', params: { id: 'new' } });
  return (
    <Page
      title={t.title} about={t.about}
      actions={mayEdit && !isBare && <Button look="primary" icon={<Plus aria-hidden />} onPress={create}>{t.create}</Button>}
    >
      {!isBare && list.data !== undefined && (
        <div className={css.search}><SearchField label={t.search} value={search} onChange={setSearch} /></div>
      )}
      {list.isPending && <Loading />}
      {list.error !== null && <LoadFailed error={list.error} again={() => void list.refetch()} />}
      {isBare && <FirstAgent icon={<Bot />} create={create} />}
      {list.isSuccess && agents.length === 0 && q !== '' && <p className="quiet" role="status">{t.nothing(q)}</p>}
      <AgentCards agents={agents} />
      {list.hasNextPage && (
        <div className={css.more}>
          <Button isPending={list.isFetchingNextPage} onPress={() => void list.fetchNextPage()}>{t.more}</Button>
        </div>
      )}
    </Page>
  );
}
