// The menu of an agent: its calls, duplicate, delete.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Activity, Copy, Ellipsis, Trash2 } from 'lucide-react';
import { useState } from 'react';

import { api, ApiError, ask, type Schemas, errorText } from '@/api/client';
import { IconButton } from '@/components/Button';
import { Confirm } from '@/components/Dialog';
import { Menu } from '@/components/Menu';
import { ErrorNote } from '@/components/Note';
import { useTexts, texts } from '@/i18n/language';

import { type Agent, draftOf, inputOf } from './draft';

const TEXTS = texts(
  {
    more: 'More', copy: 'Duplicate', remove: 'Delete', calls: 'Calls', title: (name: string) => `Delete ${name}?`,
    text: 'Its tools and its call log are kept. The agent cannot be restored.', verb: 'Delete agent',
    copied: (name: string, number: number) => (number === 1 ? `${name} copy` : `${name} copy ${number}`),
  },
  {
    more: '更多', copy: '创建副本', remove: '删除', calls: '它的调用', title: (name: string) => `删除 ${name}？`,
    text: '它的工具和调用记录会保留，智能体本身无法恢复。', verb: '删除智能体',
    copied: (name: string, number: number) => (number === 1 ? `${name} 副本` : `${name} 副本 ${number}`),
  },
);

const MAX_COPIES = 20;
const MAX_NAME = 52;

export function AgentActions({ agent }: { agent: Agent }) {
  const t = useTexts(TEXTS);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [isAsking, setIsAsking] = useState(false);
  const copy = useMutation({
    mutationFn: () => makeCopy(agent, t.copied),
    onSuccess: async (created) => {
      void queries.invalidateQueries({ queryKey: ['agents', 'list'] });
      await navigate({ to: '/agents/$id', params: { id: created.id } });
    },
  });
  const remove = async () => {
    await ask(api.DELETE('/api/agents/{id}', { params: { path: { id: agent.id } } }));
    void queries.invalidateQueries({ queryKey: ['agents', 'list'] });
    await navigate({ to: '/agents', ignoreBlocker: true });
  };
  const calls = {
    tool: undefined, agent: agent.id, status: undefined, kind: undefined, source: undefined, from: undefined,
    to: undefined, q: undefined, call: undefined,
  };
  return (
    <>
      {copy.error !== null && <ErrorNote>{errorText(copy.error)}</ErrorNote>}
      <Menu
        label={t.more} trigger={<IconButton label={t.more} look="plain"><Ellipsis aria-hidden /></IconButton>}
        actions={[
          { id: 'calls', label: t.calls, icon: <Activity size={15} aria-hidden />, onAction: () => void navigate({ to: '/calls', search: calls }) },
          { id: 'copy', label: t.copy, icon: <Copy size={15} aria-hidden />, onAction: () => copy.mutate() },
          { id: 'remove', label: t.remove, icon: <Trash2 size={15} aria-hidden />, isDangerous: true, onAction: () => setIsAsking(true) },
        ]}
      />
      <Confirm title={t.title(agent.name)} verb={t.verb} isOpen={isAsking} onClose={() => setIsAsking(false)} onConfirm={remove}>
        {t.text}
      </Confirm>
    </>
  );
}

/** Creates a copy under the first free name. */
async function makeCopy(agent: Agent, nameOf: (name: string, number: number) => string): Promise<Agent> {
  const whole: Schemas['AgentInput'] = inputOf(draftOf(agent, new Map()));
  const start = Array.from(agent.name).slice(0, MAX_NAME).join('');
  for (let number = 1; ; number += 1) {
    try {
      return await ask(api.POST('/api/agents', { body: { ...whole, name: nameOf(start, number) } }));
    } catch (error) {
      const isTaken = error instanceof ApiError && error.status === 409 && 'name' in error.details;
      if (!isTaken || number === MAX_COPIES) throw error;
    }
  }
}
