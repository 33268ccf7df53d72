// The agent and the user that requested a call, by name if the names are known.
import { Link } from '@tanstack/react-router';
import { Bot, UserRound } from 'lucide-react';
import type { ReactNode } from 'react';

import type { Approval } from '@/api/approvals';
import { short, useAgentName, usePersonName } from '@/api/names';
import { texts, useTexts } from '@/i18n/language';

import css from './ApprovalCard.module.css';

const TEXTS = texts(
  { by: 'By', agent: 'An agent', person: 'A person' },
  { by: '发起者', agent: '智能体', person: '用户' },
);

export function Asker({ approval: { agentId, userId } }: { approval: Approval }) {
  const agentName = useAgentName();
  const personName = usePersonName();
  return (
    <Line
      agent={agentId !== null && <Link to="/agents/$id" params={{ id: agentId }}>{agentName(agentId) ?? short(agentId)}</Link>}
      person={userId !== null && (personName(userId) ?? short(userId))}
    />
  );
}

/** For viewers without a session, who cannot read names. */
export function UnnamedAsker({ approval: { agentId, userId } }: { approval: Approval }) {
  const t = useTexts(TEXTS);
  return <Line agent={agentId !== null && t.agent} person={agentId === null && userId !== null && t.person} />;
}

function Line({ agent, person }: { agent: ReactNode; person: ReactNode }) {
  const t = useTexts(TEXTS);
  return (
    <span className={css.asker}>
      <span className="hidden">{t.by}</span>
      {agent !== false && <><Bot size={14} aria-hidden />{agent}</>}
      {person !== false && <><UserRound size={14} aria-hidden />{person}</>}
      {agent === false && person === false && '—'}
    </span>
  );
}
