// The cards of the agent list: name, model, description and tools.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Bot, MessagesSquare } from 'lucide-react';
import { useMemo } from 'react';

import { useMay } from '@/api/me';
import { Badge } from '@/components/Note';
import { useFormat } from '@/i18n/format';
import { useTexts, texts } from '@/i18n/language';

import css from './AgentsPage.module.css';
import type { Agent } from './draft';
import { categoriesQuery } from './queries';

const TEXTS = texts(
  {
    anyModel: 'Default model', off: 'Off', changed: (ago: string) => `Changed ${ago}`, more: (count: number) => `+${count}`,
    tools: (count: number) => (count === 1 ? '1 tool' : `${count} tools`), none: 'No description', list: 'Agents', talkTo: (name: string) => `Talk to ${name}`,
  },
  {
    anyModel: '默认模型', off: '已停用', changed: (ago: string) => `${ago}修改`, more: (count: number) => `+${count}`,
    tools: (count: number) => `${count} 个工具`, none: '没有描述', list: '智能体', talkTo: (name: string) => `与 ${name} 对话`,
  },
);

const MAX_TOOL_NAMES = 4;
const UUID = /^[0-9a-f]{8}-/;

export function AgentCards({ agents }: { agents: readonly Agent[] }) {
  const t = useTexts(TEXTS);
  const names = useToolNames(agents);
  if (agents.length === 0) return null;
  return (
    <ul className={css.cards} aria-label={t.list}>
      {agents.map((agent) => <AgentCard key={agent.id} agent={agent} names={names} />)}
    </ul>
  );
}

/** Names of tools. Fetched only if other tools than built-in ones are listed, whose id is their name. */
function useToolNames(agents: readonly Agent[]): ReadonlyMap<string, string> {
  const isEnabled = agents.some((agent) => agent.toolIds.slice(0, MAX_TOOL_NAMES).some((id) => UUID.test(id)));
  const categories = useQuery({ ...categoriesQuery, enabled: isEnabled });
  return useMemo(
    () => new Map(categories.data?.flatMap(({ tools }) => tools.map((tool): [string, string] => [tool.id, tool.name]))),
    [categories.data],
  );
}

function AgentCard({ agent, names }: { agent: Agent; names: ReadonlyMap<string, string> }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const mayCall = useMay('caller');
  const { provider, model } = agent.config;
  const modelParts = [provider, model].filter((part) => part !== null);
  const nameOf = (id: string) => names.get(id) ?? (UUID.test(id) ? '…' : id);
  const hidden = agent.toolIds.length - MAX_TOOL_NAMES;
  return (
    <li className={css.card}>
      <div className={css.head}>
        <span className={css.face} aria-hidden><Bot size={18} /></span>
        <div className={css.names}>
          <Link to="/agents/$id" params={{ id: agent.id }} className={css.name ?? ''}>{agent.name}</Link>
          <div className={css.model}>{modelParts.length === 0 ? t.anyModel : modelParts.join(' · ')}</div>
        </div>
        {!agent.isActive && <Badge>{t.off}</Badge>}
        {agent.isActive && mayCall && (
          <Link to="/chat" search={{ agent: agent.id }} className={css.talk ?? ''} aria-label={t.talkTo(agent.name)} title={t.talkTo(agent.name)}>
            <MessagesSquare size={17} aria-hidden />
          </Link>
        )}
      </div>
      <p className={css.description}>
        {agent.description === '' ? <span className="quiet">{t.none}</span> : agent.description}
      </p>
      <div className={css.chips}>
        {agent.toolIds.slice(0, MAX_TOOL_NAMES).map((id) => <span key={id} className={css.chip}>{nameOf(id)}</span>)}
        {hidden > 0 && <span className={css.chip}>{t.more(hidden)}</span>}
      </div>
      <div className={css.foot}>
        <span>{t.tools(agent.toolIds.length)}</span>
        <span>{t.changed(format.ago(agent.updatedAt))}</span>
      </div>
    </li>
  );
}
