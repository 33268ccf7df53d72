// The empty state of the agent list, with an example agent that works without network access.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Plus, Sparkles } from 'lucide-react';
import type { ReactNode } from 'react';

import { api, ask, errorText } from '@/api/client';
import { useMay } from '@/api/me';
import { createScriptedProvider, SAMPLE_TEXTS } from '@/api/sample';
import { Button } from '@/components/Button';
import { Empty, ErrorNote } from '@/components/Note';
import { useTexts, texts } from '@/i18n/language';

import css from './AgentsPage.module.css';
import { providersQuery } from './queries';

const TEXTS = texts(
  {
    title: 'No agents yet',
    text: 'An agent is a prompt, a model and the tools that model may call. Haft shows it only those tools, with the values you fixed, and logs each call.',
    example: 'Create an example agent', blank: 'Start empty',
    name: 'assistant', description: 'Counts, dates and edits text exactly instead of guessing.',
    prompt: 'You are a careful assistant.\n\nUse the tools for anything that must be exact: arithmetic, dates and times, and operations on text. Say briefly how you got a result. When something is unclear, ask first.',
    viewer: 'Editors of this space can create agents.',
    script: 'No model is set up, so the example uses a scripted demo. It is not a model, but it really calls the calculator, without network access. When you add a provider, a model answers instead.',
    noModel: 'No model is set up. An admin of this space has to add a provider before you can chat.',
  },
  {
    title: '还没有智能体',
    text: '智能体由一段提示词、一个模型和该模型可以调用的工具组成。Haft 只向它展示这些工具，带上你固定的参数，并记录每次调用。',
    example: '创建示例智能体', blank: '从空白开始',
    name: '助手', description: '精确地计算、处理日期和文本，而不是靠猜。',
    prompt: '你是一名严谨的助手。\n\n凡是需要精确的事情，例如算术、日期时间和文本处理，都使用工具完成。简要说明结果是如何得到的。遇到不清楚的地方，先提问。',
    viewer: '拥有此空间编辑权限的人可以创建。',
    script: '还没有模型，因此示例附带一段脚本代替模型回答。它不是模型，但会真实调用计算器，无需网络。添加模型服务后，就由模型来回答。',
    noModel: '还没有模型：需由空间管理员添加模型服务后才能对话。',
  },
);

const OFFLINE_TOOLS = ['calculator', 'datetime', 'string'];

export function FirstAgent({ icon, create }: { icon: ReactNode; create: () => void }) {
  const t = useTexts(TEXTS);
  const mayEdit = useMay('editor');
  const navigate = useNavigate();
  const queries = useQueryClient();
  const mayAdd = useMay('admin');
  const script = useTexts(SAMPLE_TEXTS);
  const hasNoModel = useQuery(providersQuery).data?.length === 0;
  const make = useMutation({
    mutationFn: async () => {
      if (hasNoModel && mayAdd) await createScriptedProvider(script);
      return ask(api.POST('/api/agents', {
        body: { name: t.name, description: t.description, systemPrompt: t.prompt, isActive: true, toolIds: OFFLINE_TOOLS },
      }));
    },
    onSuccess: async (agent) => {
      void queries.invalidateQueries({ queryKey: ['agents'] });
      void queries.invalidateQueries({ queryKey: ['providers'] });
      await navigate({ to: '/agents/$id', params: { id: agent.id } });
    },
  });
  const actions = (
    <>
      <div className={css.first}>
        <Button look="primary" icon={<Sparkles aria-hidden />} isPending={make.isPending} onPress={() => make.mutate()}>{t.example}</Button>
        <Button icon={<Plus aria-hidden />} onPress={create}>{t.blank}</Button>
      </div>
      {hasNoModel && <p className={css.firstNote}>{mayAdd ? t.script : t.noModel}</p>}
      {make.error !== null && <ErrorNote>{errorText(make.error)}</ErrorNote>}
    </>
  );
  return (
    <Empty icon={icon} title={t.title} action={mayEdit ? actions : <p className="quiet">{t.viewer}</p>}>{t.text}</Empty>
  );
}
