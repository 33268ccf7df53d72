// Deletes a tool after one question, which names the agents that lose it.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import { api, ApiError, ask } from '@/api/client';
import { Confirm } from '@/components/Dialog';
import { WarningNote } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import type { Tool } from './tool';
import css from './ToolHead.module.css';
import { usedByQuery } from './usedBy';

const WORDS = words(
  {
    title: (name: string) => `Delete ${name}?`, verb: 'Delete tool', anyway: 'Delete and take it from them',
    text: 'The tool goes with all its versions, and cannot be brought back. Its calls stay in the log.',
    used: (names: string) => `These agents use it and will lose it: ${names}.`, more: (count: number) => `${count} more`, and: ', ',
  },
  {
    title: (name) => `删除 ${name}？`, verb: '删除工具', anyway: '删除并从智能体中移除',
    text: '工具及其所有版本都会删除，无法恢复；调用记录仍会保留。',
    used: (names) => `以下智能体正在使用它，删除后将失去它：${names}。`, more: (count) => `另外 ${count} 个`, and: '、',
  },
);

const MOST_NAMED = 10;

export function DeleteTool({ tool, onClose }: { tool: Pick<Tool, 'id' | 'name'>; onClose: () => void }) {
  const t = useWords(WORDS);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const using = useQuery(usedByQuery(tool.id));
  /** Those that took it since, by the server's word. */
  const [told, setTold] = useState<string[]>();
  const agents = told ?? using.data ?? [];
  const remove = async () => {
    try {
      await ask(api.DELETE('/api/tools/{id}', { params: { path: { id: tool.id }, query: { force: agents.length > 0 } } }));
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) setTold(namesIn(error.details['agents']));
      throw error;
    }
    // Away first: the page of a tool that is gone has nothing to show, and what was typed there is gone with it.
    await navigate({ to: '/tools', search: { q: undefined, category: undefined }, ignoreBlocker: true });
    void queries.invalidateQueries({ queryKey: ['tools'] });
    void queries.invalidateQueries({ queryKey: ['agents'] });
  };
  const named = agents.slice(0, MOST_NAMED);
  const names = agents.length > named.length ? [...named, t.more(agents.length - named.length)] : named;
  return (
    <Confirm title={t.title(tool.name)} verb={agents.length > 0 ? t.anyway : t.verb} isOpen onClose={onClose} onConfirm={remove}>
      <div className={css.form}>
        <p>{t.text}</p>
        {agents.length > 0 && <WarningNote>{t.used(names.join(t.and))}</WarningNote>}
      </div>
    </Confirm>
  );
}

function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
