// Deletes a tool after a confirmation that lists the agents using it.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import { api, ApiError, ask } from '@/api/client';
import { Confirm } from '@/components/Dialog';
import { WarningNote } from '@/components/Note';
import { useTexts, texts } from '@/i18n/language';

import type { Tool } from './tool';
import css from './ToolHead.module.css';
import { usedByQuery } from './usedBy';

const TEXTS = texts(
  {
    title: (name: string) => `Delete ${name}?`, verb: 'Delete tool', anyway: 'Delete and remove from agents',
    text: 'The tool is deleted with all its versions and cannot be restored. Its calls stay in the log.',
    used: (names: string) => `These agents use it and will lose it: ${names}.`, more: (count: number) => `${count} more`, and: ', ',
  },
  {
    title: (name) => `删除 ${name}？`, verb: '删除工具', anyway: '删除并从智能体中移除',
    text: '工具及其所有版本都会删除，无法恢复；调用记录仍会保留。',
    used: (names) => `以下智能体正在使用它，删除后将失去它：${names}。`, more: (count) => `另外 ${count} 个`, and: '、',
  },
);

const MAX_NAMED = 10;

export function DeleteTool({ tool, onClose }: { tool: Pick<Tool, 'id' | 'name'>; onClose: () => void }) {
  const t = useTexts(TEXTS);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const using = useQuery(usedByQuery(tool.id));
  /** Agents reported by the server when it refused the deletion. */
  const [reported, setReported] = useState<string[]>();
  const agents = reported ?? using.data ?? [];
  const remove = async () => {
    try {
      await ask(api.DELETE('/api/tools/{id}', { params: { path: { id: tool.id }, query: { force: agents.length > 0 } } }));
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) setReported(namesIn(error.details['agents']));
      throw error;
    }
    // Navigate first, because the page of a deleted tool has nothing to show.
    await navigate({ to: '/tools', search: { q: undefined, category: undefined }, ignoreBlocker: true });
    void queries.invalidateQueries({ queryKey: ['tools'] });
    void queries.invalidateQueries({ queryKey: ['agents'] });
  };
  const named = agents.slice(0, MAX_NAMED);
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
