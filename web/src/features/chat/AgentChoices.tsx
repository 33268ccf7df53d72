// Agents to begin with: a press chooses one.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Bot } from 'lucide-react';

import { useWords, words } from '@/i18n/language';

import css from './NewTalk.module.css';
import { activeAgentsQuery } from './queries';

const WORDS = words({ agents: 'Agents' }, { agents: '智能体' });

const MOST = 6;

export function AgentChoices() {
  const t = useWords(WORDS);
  const { data = [] } = useQuery(activeAgentsQuery(''));
  if (data.length === 0) return null;
  return (
    <ul className={css.choices} aria-label={t.agents}>
      {data.slice(0, MOST).map(({ id, name, description }) => (
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
