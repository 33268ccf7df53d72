// The editor of an agent: all its settings on one page, saved in one request.
import { Link, useNavigate } from '@tanstack/react-router';
import { MessagesSquare } from 'lucide-react';
import { useCallback } from 'react';

import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { Switch } from '@/components/Field';
import { LeaveGuard } from '@/components/LeaveGuard';
import { Badge, Hint } from '@/components/Note';
import { Page } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { useTexts, texts } from '@/i18n/language';

import { AgentActions } from './AgentActions';
import css from './AgentEditor.module.css';
import type { Agent } from './draft';
import { Instructions } from './Instructions';
import { ModelCard } from './ModelCard';
import type { LoadedAgent } from './queries';
import { SaveBar } from './SaveBar';
import { ToolsCard } from './ToolsCard';
import { useAgentForm } from './useAgentForm';
import { useSaveKey } from './useSaveKey';

const TEXTS = texts(
  {
    fresh: 'New agent', back: 'Agents', active: 'Active', viewer: 'You can view this agent, but not change it.',
    changed: (version: number, ago: string) => `Version ${version}, changed ${ago}`, off: 'Off',
    about: 'A prompt, a model and the tools it may call.', noRight: 'Creating agents requires the editor role.', tryIt: 'Try this agent',
  },
  {
    fresh: '新建智能体', back: '智能体', active: '启用', viewer: '你可以查看此智能体，但不能修改。',
    changed: (version: number, ago: string) => `版本 ${version}，${ago}修改`, off: '已停用',
    about: '一段提示词、一个模型，以及它可以调用的工具。', noRight: '创建智能体需要编辑者权限。', tryIt: '试用此智能体',
  },
);

export function AgentEditor({ loaded }: { loaded: LoadedAgent | null }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const mayEdit = useMay('editor');
  const mayCall = useMay('caller');
  const navigate = useNavigate();
  const openAgent = useCallback(
    (agent: Agent) => void navigate({ to: '/agents/$id', params: { id: agent.id }, replace: true, ignoreBlocker: true }),
    [navigate],
  );
  const form = useAgentForm(loaded, openAgent);
  const { draft, edit, faults, saved } = form;
  useSaveKey(() => {
    if (mayEdit && form.isChanged && !form.save.isPending) form.submit();
  });
  const { agent } = saved;
  const back = <Link to="/agents">{t.back}</Link>;
  if (agent === null && !mayEdit) return <Page title={t.fresh} about={t.about} back={back}><Hint>{t.noRight}</Hint></Page>;
  return (
    <>
      <Page
        title={agent?.name ?? t.fresh}
        about={agent === null ? t.about : t.changed(agent.version, format.ago(agent.updatedAt))}
        back={back}
        actions={(
          <div className={css.actions}>
            {mayEdit
              ? <Switch label={t.active} isSelected={draft.isActive} onChange={(isActive) => edit((now) => ({ ...now, isActive }))} />
              : !draft.isActive && <Badge>{t.off}</Badge>}
            {agent?.isActive === true && mayCall && (
              <Button icon={<MessagesSquare aria-hidden />} onPress={() => void navigate({ to: '/chat', search: { agent: agent.id } })}>{t.tryIt}</Button>
            )}
            {mayEdit && agent !== null && <AgentActions agent={agent} />}
          </div>
        )}
      >
        {!mayEdit && <Hint>{t.viewer}</Hint>}
        <div className={css.columns}>
          <Instructions draft={draft} edit={edit} faults={faults} isNew={agent === null} />
          <ModelCard config={draft.config} tools={draft.tools} locale={draft.locale} category={draft.category} edit={edit} faults={faults} />
        </div>
        <ToolsCard agentId={agent?.id ?? null} tools={draft.tools} savedTools={saved.draft.tools} edit={edit} faults={faults} />
        {mayEdit && <SaveBar form={form} />}
      </Page>
      <LeaveGuard isChanged={mayEdit && form.isChanged} />
    </>
  );
}
