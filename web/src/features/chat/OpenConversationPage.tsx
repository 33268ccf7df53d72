// The page of one conversation.
import { Link, useParams } from '@tanstack/react-router';
import { Bot, Ellipsis, MessageCircleOff } from 'lucide-react';

import { ApiError } from '@/api/client';
import { IconButton } from '@/components/Button';
import { Empty } from '@/components/Note';
import { LoadFailed, Loading } from '@/components/Page';
import { texts, useTexts } from '@/i18n/language';

import { ConversationMenu } from './ConversationMenu';
import { ConversationView } from './ConversationView';
import { Head } from './Head';
import { useConversation } from './useConversation';
import type { Conversation } from './wire';

const TEXTS = texts(
  {
    untitled: 'New conversation', more: 'More', gone: 'Conversation not found', goneText: 'It may have been deleted, or it belongs to another user.',
    fresh: 'Start a new one', agent: 'Agent', chat: 'Chat',
  },
  {
    untitled: '新对话', more: '更多', gone: '找不到这个对话', goneText: '它可能已被删除，或属于其他人。',
    fresh: '开始新对话', agent: '智能体', chat: '对话',
  },
);

export function OpenConversationPage() {
  const { id } = useParams({ from: '/inside/chat/$id' });
  // The key resets all state when another conversation is opened.
  return <Opened key={id} id={id} />;
}

function Opened({ id }: { id: string }) {
  const t = useTexts(TEXTS);
  const { data, error, refetch, isConnected } = useConversation(id);
  if (error instanceof ApiError && error.status === 404) {
    return (
      <>
        <Head title={t.chat} />
        <Empty icon={<MessageCircleOff />} title={t.gone} action={<Link to="/chat" search={{ agent: undefined }}>{t.fresh}</Link>}>{t.goneText}</Empty>
      </>
    );
  }
  if (data === undefined) {
    return (
      <>
        <Head title={t.chat} />
        {error === null ? <Loading /> : <LoadFailed error={error} again={() => void refetch()} />}
      </>
    );
  }
  return (
    <>
      <Head
        title={data.title === '' ? t.untitled : data.title} about={<ConversationAgent talk={data} />}
        actions={<ConversationMenu row={data} trigger={<IconButton label={t.more}><Ellipsis aria-hidden /></IconButton>} />}
      />
      <ConversationView talk={data} isConnected={isConnected} />
    </>
  );
}

function ConversationAgent({ talk: { agentId, agentName } }: { talk: Conversation }) {
  const t = useTexts(TEXTS);
  if (agentId === null || agentName === null) return undefined;
  return (
    <>
      <Bot size={14} role="img" aria-label={t.agent} />
      <Link to="/agents/$id" params={{ id: agentId }}>{agentName}</Link>
    </>
  );
}
