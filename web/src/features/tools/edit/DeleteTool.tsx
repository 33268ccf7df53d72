// Deletes a tool after one question; one that agents use only when told so twice.
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';

import { api, ApiError, ask } from '@/api/client';
import { Button } from '@/components/Button';
import { Confirm } from '@/components/Dialog';
import { useWords, words } from '@/i18n/language';

import { listOf, textOf } from './json';

const WORDS = words(
  {
    button: 'Delete', title: (name: string) => `Delete ${name}?`, text: 'The tool goes with all its versions, and cannot be brought back. Its calls stay in the log.',
    verb: 'Delete tool', force: 'Delete and take it from them', used: (names: string) => `These agents use it and will lose it: ${names}.`,
  },
  {
    button: '删除', title: (name: string) => `删除 ${name}？`, text: '工具及其所有版本都会删除，无法恢复；调用记录仍会保留。',
    verb: '删除工具', force: '删除并从智能体中移除', used: (names: string) => `以下智能体正在使用它，删除后将失去它：${names}。`,
  },
);

export function DeleteTool({ id, name }: { id: string; name: string }) {
  const t = useWords(WORDS);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [isOpen, setIsOpen] = useState(false);
  const [agents, setAgents] = useState<string[]>([]);
  const remove = async () => {
    try {
      await ask(api.DELETE('/api/tools/{id}', { params: { path: { id }, query: { force: agents.length > 0 } } }));
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) setAgents(listOf(error.details['agents']).map(textOf));
      throw error;
    }
    await navigate({ to: '/tools', search: { q: undefined, category: undefined }, ignoreBlocker: true });
    void queries.invalidateQueries({ queryKey: ['tools'] });
  };
  const close = () => {
    setIsOpen(false);
    setAgents([]);
  };
  return (
    <>
      <Button look="danger" icon={<Trash2 aria-hidden />} onPress={() => setIsOpen(true)}>{t.button}</Button>
      <Confirm title={t.title(name)} verb={agents.length > 0 ? t.force : t.verb} isOpen={isOpen} onClose={close} onConfirm={remove}>
        {agents.length > 0 ? t.used(agents.join(', ')) : t.text}
      </Confirm>
    </>
  );
}
