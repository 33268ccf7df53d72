// The tools of an agent: all there are on the left, those it has on the right, in their order.
import { memo, useCallback, useMemo, useState } from 'react';

import { useMay } from '@/api/me';
import { useWords, words } from '@/i18n/language';

import { BindingDrawer } from './BindingDrawer';
import { add, type Bound, type BoundList, remove } from './bindings';
import { ChosenTools } from './ChosenTools';
import { type Faults, faultsOfTool } from './draft';
import { ToolPicker } from './ToolPicker';
import css from './ToolsCard.module.css';
import type { Edit } from './useAgentForm';

const WORDS = words(
  {
    all: 'All tools', own: 'Tools of this agent', title: 'Tools', on: (on: number, all: number) => `${on} of ${all} on`,
    order: 'The model is shown them in this order.',
  },
  {
    all: '全部工具', own: '此智能体的工具', title: '工具', on: (on: number, all: number) => `已启用 ${on} / ${all}`,
    order: '模型按此顺序看到它们。',
  },
);

export interface ToolsCardProps {
  /** null while the agent is new. */
  agentId: string | null;
  tools: BoundList;
  savedTools: BoundList;
  edit: Edit;
  faults: Faults;
}

export type EditTools = (change: (tools: BoundList) => BoundList) => void;

export const ToolsCard = memo(function ToolsCard({ agentId, tools, savedTools, edit, faults }: ToolsCardProps) {
  const t = useWords(WORDS);
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
  const replace = (next: Bound) => editTools((now) => now.map((tool) => (tool.toolId === next.toolId ? next : tool)));
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
          key={open.toolId} bound={open} replace={replace} faults={faultsOfTool(faults, open.toolId)}
          shownBy={isSaved ? agentId : null} close={() => setOpened(null)}
        />
      )}
    </section>
  );
});
