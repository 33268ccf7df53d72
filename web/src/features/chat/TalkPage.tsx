// One conversation: what was said and done in it, and the place to say more.
import { Link, useParams } from '@tanstack/react-router';
import { Bot, Ellipsis, MessageCircleOff } from 'lucide-react';

import { ApiError } from '@/api/client';
import { IconButton } from '@/components/Button';
import { Empty } from '@/components/Note';
import { Loading, LoadFailed } from '@/components/Page';
import { useWords, words } from '@/i18n/language';

import { ConversationMenu } from './ConversationMenu';
import { Head } from './Head';
import { Talk } from './Talk';
import { useTalk } from './useTalk';
import type { Conversation } from './wire';

const WORDS = words(
  {
    untitled: 'New conversation', more: 'More', gone: 'There is no such conversation', goneText: 'It may have been deleted, or it belongs to somebody else.',
    fresh: 'Begin a new one', agent: 'Agent', chat: 'Chat',
  },
  {
    untitled: '新对话', more: '更多', gone: '找不到这个对话', goneText: '它可能已被删除，或属于其他人。',
    fresh: '开始新对话', agent: '智能体', chat: '对话',
  },
);

export function TalkPage() {
  const { id } = useParams({ from: '/inside/chat/$id' });
  // Nothing of one conversation stays for the next.
  return <Opened key={id} id={id} />;
}

function Opened({ id }: { id: string }) {
  const t = useWords(WORDS);
  const { data, error, refetch, isHeard } = useTalk(id);
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
        title={data.title === '' ? t.untitled : data.title} about={<With talk={data} />}
        actions={<ConversationMenu row={data} trigger={<IconButton label={t.more}><Ellipsis aria-hidden /></IconButton>} />}
      />
      <Talk talk={data} isHeard={isHeard} />
    </>
  );
}

function With({ talk: { agentId, agentName } }: { talk: Conversation }) {
  const t = useWords(WORDS);
  if (agentId === null || agentName === null) return undefined;
  return (
    <>
      <Bot size={14} role="img" aria-label={t.agent} />
      <Link to="/agents/$id" params={{ id: agentId }}>{agentName}</Link>
    </>
  );
}
