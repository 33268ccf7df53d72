// Agents side by side, each with what tells it from the others.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Bot, MessagesSquare } from 'lucide-react';
import { useMemo } from 'react';

import { useMay } from '@/api/me';
import { Badge } from '@/components/Note';
import { useFormat } from '@/i18n/format';
import { useWords, words } from '@/i18n/language';

import css from './AgentsPage.module.css';
import type { Agent } from './draft';
import { categoriesQuery } from './queries';

const WORDS = words(
  {
    anyModel: 'Default model', off: 'Off', changed: (ago: string) => `Changed ${ago}`, more: (count: number) => `+${count}`,
    tools: (count: number) => (count === 1 ? '1 tool' : `${count} tools`), none: 'No description', list: 'Agents', talkTo: (name: string) => `Talk to ${name}`,
  },
  {
    anyModel: '默认模型', off: '已停用', changed: (ago: string) => `${ago}修改`, more: (count: number) => `+${count}`,
    tools: (count: number) => `${count} 个工具`, none: '没有描述', list: '智能体', talkTo: (name: string) => `与 ${name} 对话`,
  },
);

const SHOWN_TOOLS = 4;
const UUID = /^[0-9a-f]{8}-/;

export function AgentCards({ agents }: { agents: readonly Agent[] }) {
  const t = useWords(WORDS);
  const names = useToolNames(agents);
  if (agents.length === 0) return null;
  return (
    <ul className={css.cards} aria-label={t.list}>
      {agents.map((agent) => <AgentCard key={agent.id} agent={agent} names={names} />)}
    </ul>
  );
}

/** Built-in tools are called as their id says; names are only asked for where others are shown. */
function useToolNames(agents: readonly Agent[]): ReadonlyMap<string, string> {
  const isAsked = agents.some((agent) => agent.toolIds.slice(0, SHOWN_TOOLS).some((id) => UUID.test(id)));
  const categories = useQuery({ ...categoriesQuery, enabled: isAsked });
  return useMemo(
    () => new Map(categories.data?.flatMap(({ tools }) => tools.map((tool): [string, string] => [tool.id, tool.name]))),
    [categories.data],
  );
}

function AgentCard({ agent, names }: { agent: Agent; names: ReadonlyMap<string, string> }) {
  const t = useWords(WORDS);
  const format = useFormat();
  const mayCall = useMay('caller');
  const { provider, model } = agent.config;
  const said = [provider, model].filter((part) => part !== null);
  const nameOf = (id: string) => names.get(id) ?? (UUID.test(id) ? '…' : id);
  const hidden = agent.toolIds.length - SHOWN_TOOLS;
  return (
    <li className={css.card}>
      <div className={css.head}>
        <span className={css.face} aria-hidden><Bot size={18} /></span>
        <div className={css.names}>
          <Link to="/agents/$id" params={{ id: agent.id }} className={css.name ?? ''}>{agent.name}</Link>
          <div className={css.model}>{said.length === 0 ? t.anyModel : said.join(' · ')}</div>
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
        {agent.toolIds.slice(0, SHOWN_TOOLS).map((id) => <span key={id} className={css.chip}>{nameOf(id)}</span>)}
        {hidden > 0 && <span className={css.chip}>{t.more(hidden)}</span>}
      </div>
      <div className={css.foot}>
        <span>{t.tools(agent.toolIds.length)}</span>
        <span>{t.changed(format.ago(agent.updatedAt))}</span>
      </div>
    </li>
  );
}
