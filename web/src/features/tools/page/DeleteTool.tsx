// Deletes a tool, after one question; where agents use it, after they were named.
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import { api, ApiError, ask } from '@/api/client';
import { Confirm } from '@/components/Dialog';
import { useWords, words } from '@/i18n/language';

import type { Tool } from './tool';

const WORDS = words(
  {
    title: (name: string) => `Delete ${name}?`, verb: 'Delete tool', anyway: 'Delete anyway',
    text: 'The tool and all its versions are gone for good. Calls on record stay.',
    used: 'Agents use this tool. If you delete it anyway, they go on without it.',
  },
  {
    title: (name) => `删除 ${name}？`, verb: '删除工具', anyway: '仍然删除',
    text: '该工具及其所有版本将被永久删除；调用记录会保留。',
    used: '有智能体正在使用此工具。仍然删除后，它们将不再拥有它。',
  },
);

export function DeleteTool({ tool, onClose }: { tool: Tool; onClose: () => void }) {
  const t = useWords(WORDS);
  const navigate = useNavigate();
  const [isUsed, setIsUsed] = useState(false);
  const remove = async () => {
    try {
      const query = isUsed ? { force: true } : {};
      await ask(api.DELETE('/api/tools/{id}', { params: { path: { id: tool.id }, query } }));
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) setIsUsed(true);
      throw error;
    }
    // Away first: the page of a tool that is gone has nothing to show.
    await navigate({ to: '/tools', search: { q: undefined, category: undefined } });
  };
  return (
    <Confirm title={t.title(tool.name)} verb={isUsed ? t.anyway : t.verb} isOpen onClose={onClose} onConfirm={remove}>
      {isUsed ? t.used : t.text}
    </Confirm>
  );
}
