// The page of a new conversation: the choice of an agent, and the first message.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { MessagesSquare } from 'lucide-react';

import { api, ApiError, ask, errorText } from '@/api/client';
import { useMay } from '@/api/me';
import { ErrorNote, Hint } from '@/components/Note';
import { LoadFailed, Loading } from '@/components/Page';
import { texts, useTexts } from '@/i18n/language';

import { AgentChoices } from './AgentChoices';
import { type Agent, AgentPick } from './AgentPick';
import { Composer } from './Composer';
import { contentOf, type MessageDraft } from './content';
import { FirstProvider } from './FirstProvider';
import { Head } from './Head';
import css from './NewChat.module.css';
import { providersQuery } from './queries';
import { sendMessages } from './requests';
import { cacheNewConversation } from './useConversation';
import type { Message } from './wire';

const TEXTS = texts(
  {
    head: 'New chat', title: 'How can I help?', with: (name: string) => `Chat with ${name}`, alone: 'Without an agent, the default model responds and calls no tools.',
    tools: (count: number) => (count === 1 ? '1 tool' : `${count} tools`), change: 'Change this agent', make: 'Create an agent', makeText: 'Each agent has its own instructions and tools.',
    viewer: 'Chatting with agents needs the role caller.', off: 'This agent is off. Switch it on, or choose another.',
    missing: 'This agent does not exist. Choose another.', notLoaded: 'The agent could not be loaded.', loading: 'The agent is being loaded.',
  },
  {
    head: '新对话', title: '今天想做些什么？', with: (name: string) => `与 ${name} 对话`, alone: '不使用智能体时，由默认模型回答，不会调用工具。',
    tools: (count: number) => `${count} 个工具`, change: '编辑此智能体', make: '创建智能体', makeText: '智能体有自己的指令和工具。',
    viewer: '与智能体对话需要调用者权限。', off: '此智能体已停用，请启用它或选择其他智能体。',
    missing: '没有这个智能体，请选择其他智能体。', notLoaded: '无法加载智能体。', loading: '正在加载智能体。',
  },
);

const FRESH = 'new';

export function NewChatPage() {
  const t = useTexts(TEXTS);
  const { agent: agentId } = useSearch({ from: '/inside/chat/' });
  const navigate = useNavigate();
  const providers = useQuery(providersQuery);
  const mayCall = useMay('caller');
  const agent = useQuery({
    queryKey: ['agents', 'talk', agentId],
    queryFn: () => ask(api.GET('/api/agents/{id}', { params: { path: { id: agentId ?? '' } } })),
    enabled: agentId !== undefined,
  });
  const begin = useBegin(agent.data);
  const unusable = agentId === undefined ? undefined : whyUnusable(agent.data, agent.error);
  const choose = (id: string | undefined) => void navigate({ to: '/chat', search: { agent: id }, replace: true });
  return (
    <>
      <Head title={t.head} />
      <div className={css.page}>
        {providers.isPending && <Loading />}
        {providers.data?.length === 0 && <FirstProvider />}
        {providers.data?.length !== 0 && !providers.isPending && (
          <div className={css.begin}>
            <span className={css.icon} aria-hidden><MessagesSquare /></span>
            <h2 className={css.title}>{agent.data === undefined ? t.title : t.with(agent.data.name)}</h2>
            <About agent={agent.data} />
            {unusable === 'notLoaded' && <LoadFailed error={agent.error} again={() => void agent.refetch()} />}
            {begin.error !== null && <ErrorNote>{errorText(begin.error)}</ErrorNote>}
            {mayCall ? (
              <div className={css.composer}>
                <Composer
                  draftId={FRESH} isTurnRunning={begin.isPending} cannot={unusable && t[unusable]}
                  onSend={(draft) => begin.mutateAsync(draft).then(() => true, () => false)}
                  aside={<AgentPick agent={agent.data} onChoose={choose} />}
                />
              </div>
            ) : <Hint>{t.viewer}</Hint>}
            {mayCall && agentId === undefined && <AgentChoices />}
          </div>
        )}
      </div>
    </>
  );
}

/** The reason why the agent cannot be used. Returns `undefined` if it can. */
function whyUnusable(agent: Agent | undefined, error: Error | null): 'off' | 'missing' | 'notLoaded' | 'loading' | undefined {
  if (agent !== undefined) return agent.isActive ? undefined : 'off';
  if (error === null) return 'loading';
  return error instanceof ApiError && error.status === 404 ? 'missing' : 'notLoaded';
}

function useBegin(agent: Agent | undefined) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: async (draft: MessageDraft) => {
      const messages: Message[] = [{ role: 'user', content: contentOf(draft) }];
      const accepted = await sendMessages({ messages, ...(agent === undefined ? {} : { agentId: agent.id }) });
      cacheNewConversation(queries, accepted, agent, messages);
      await navigate({ to: '/chat/$id', params: { id: accepted.conversationId } });
    },
  });
}

function About({ agent }: { agent: Agent | undefined }) {
  const t = useTexts(TEXTS);
  const mayEdit = useMay('editor');
  if (agent === undefined) {
    return (
      <p className={css.about}>
        {t.alone} {mayEdit && <Link to="/agents/$id" params={{ id: 'new' }}>{t.make}</Link>}
      </p>
    );
  }
  return (
    <div className={css.about}>
      {agent.description !== '' && <p>{agent.description}</p>}
      <p className={css.facts}>
        <span>{t.tools(agent.toolIds.length)}</span>
        {agent.config.model !== null && <span>{agent.config.model}</span>}
        {mayEdit && <Link to="/agents/$id" params={{ id: agent.id }}>{t.change}</Link>}
      </p>
    </div>
  );
}
