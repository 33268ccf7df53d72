// The tools of an agent: the picker on the left, the selected tools in their order on the right.
import { memo, useCallback, useMemo, useState } from 'react';

import { useMay } from '@/api/me';
import { useTexts, texts } from '@/i18n/language';

import { BindingDrawer } from './BindingDrawer';
import { add, type BindingDraft, type BindingDraftList, remove } from './bindings';
import { ChosenTools } from './ChosenTools';
import { type Faults, faultsOfTool } from './draft';
import { ToolPicker } from './ToolPicker';
import css from './ToolsCard.module.css';
import type { Edit } from './useAgentForm';

const TEXTS = texts(
  {
    all: 'All tools', own: 'Tools of this agent', title: 'Tools', on: (on: number, all: number) => `${on} of ${all} on`,
    order: 'The model sees the tools in this order.',
  },
  {
    all: '全部工具', own: '此智能体的工具', title: '工具', on: (on: number, all: number) => `已启用 ${on} / ${all}`,
    order: '模型按此顺序看到它们。',
  },
);

export interface ToolsCardProps {
  /** null if the agent is not saved yet. */
  agentId: string | null;
  tools: BindingDraftList;
  savedTools: BindingDraftList;
  edit: Edit;
  faults: Faults;
}

export type EditTools = (change: (tools: BindingDraftList) => BindingDraftList) => void;

export const ToolsCard = memo(function ToolsCard({ agentId, tools, savedTools, edit, faults }: ToolsCardProps) {
  const t = useTexts(TEXTS);
  const mayEdit = useMay('editor');
  const [opened, setOpened] = useState<string | null>(null);
  const editTools: EditTools = useCallback((change) => edit((now) => ({ ...now, tools: change(now.tools) })), [edit]);
  const chosen = useMemo(() => new Set(tools.map((tool) => tool.toolId)), [tools]);
  const choose = useCallback(
    (some: readonly { id: string; name: string }[], isChosen: boolean) =>
      editTools((now) => (isChosen ? add(now, some) : remove(now, some.map((tool) => tool.id)))),
    [editTools],
  );
  const open = tools.find((tool) => tool.toolId === opened);
  const replace = (next: BindingDraft) => editTools((now) => now.map((tool) => (tool.toolId === next.toolId ? next : tool)));
  const isSaved = open !== undefined && savedTools.some((tool) => tool.toolId === open.toolId && JSON.stringify(tool) === JSON.stringify(open));
  return (
    <section className={css.card} aria-label={t.title}>
      {mayEdit && (
        <div className={css.pane}>
          <header className={css.header}><h2>{t.all}</h2></header>
          <ToolPicker chosen={chosen} choose={choose} />
        </div>
      )}
      <div className={css.pane}>
        <header className={css.header}>
          <h2>{t.own}</h2>
          {tools.length > 0 && <span className="quiet small">{t.on(tools.filter((tool) => tool.isEnabled).length, tools.length)}</span>}
        </header>
        <ChosenTools tools={tools} editTools={editTools} faults={faults} open={setOpened} />
        {tools.length > 1 && <p className={css.foot}>{t.order}</p>}
      </div>
      {open !== undefined && (
        <BindingDrawer
          key={open.toolId} binding={open} replace={replace} faults={faultsOfTool(faults, open.toolId)}
          savedAgentId={isSaved ? agentId : null} close={() => setOpened(null)}
        />
      )}
    </section>
  );
});
