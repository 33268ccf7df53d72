// One conversation in the list: title, agent, status and actions.
import { Link } from '@tanstack/react-router';
import { CirclePause, Ellipsis, LoaderCircle } from 'lucide-react';

import { IconButton } from '@/components/Button';
import { texts, useTexts } from '@/i18n/language';

import css from './ConversationList.module.css';
import { ConversationMenu } from './ConversationMenu';
import type { ConversationRow } from './wire';

const TEXTS = texts(
  {
    running: 'Answering', waiting: 'Waiting for an approval or a task', more: (title: string) => `More for ${title}`, untitled: 'New conversation',
  },
  { running: '正在回答', waiting: '等待审批或任务', more: (title: string) => `“${title}”的更多操作`, untitled: '新对话' },
);

export function ConversationLink({ row, onChosen }: { row: ConversationRow; onChosen: (() => void) | undefined }) {
  const t = useTexts(TEXTS);
  const title = row.title === '' ? t.untitled : row.title;
  return (
    <li className={css.item}>
      <Link to="/chat/$id" params={{ id: row.id }} className={css.link ?? ''} onClick={() => onChosen?.()}>
        <span className={css.first}>
          {row.status === 'running' && <LoaderCircle size={13} role="img" aria-label={t.running} className={css.spin} />}
          {row.status === 'waiting' && <CirclePause size={13} role="img" aria-label={t.waiting} className={css.waits} />}
          <span className={css.name} title={title}>{title}</span>
        </span>
        {row.agentName !== null && <span className={css.agent}>{row.agentName}</span>}
      </Link>
      <span className={css.menu}>
        <ConversationMenu row={row} trigger={<IconButton label={t.more(title)}><Ellipsis aria-hidden /></IconButton>} />
      </span>
    </li>
  );
}
