// Agents to start a conversation with; pressing one selects it.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Bot } from 'lucide-react';

import { texts, useTexts } from '@/i18n/language';

import css from './NewChat.module.css';
import { activeAgentsQuery } from './queries';

const TEXTS = texts({ agents: 'Agents' }, { agents: '智能体' });

const MAX_ITEMS = 6;

export function AgentChoices() {
  const t = useTexts(TEXTS);
  const { data = [] } = useQuery(activeAgentsQuery(''));
  if (data.length === 0) return null;
  return (
    <ul className={css.choices} aria-label={t.agents}>
      {data.slice(0, MAX_ITEMS).map(({ id, name, description }) => (
        <li key={id}>
          <Link to="/chat" search={{ agent: id }} replace className={css.choice ?? ''}>
            <strong><Bot size={15} aria-hidden />{name}</strong>
            {description !== '' && <span>{description}</span>}
          </Link>
        </li>
      ))}
    </ul>
  );
}
