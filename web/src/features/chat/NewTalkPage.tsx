// A new conversation: with whom, and the first thing to say.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { MessagesSquare } from 'lucide-react';

import { api, ApiError, ask, wordsOf } from '@/api/client';
import { useMay } from '@/api/me';
import { ErrorNote, Hint } from '@/components/Note';
import { Loading, LoadFailed } from '@/components/Page';
import { useWords, words } from '@/i18n/language';

import { AgentChoices } from './AgentChoices';
import { type Agent, AgentPick } from './AgentPick';
import { Composer } from './Composer';
import { contentOf, type Said } from './content';
import { FirstProvider } from './FirstProvider';
import { Head } from './Head';
import css from './NewTalk.module.css';
import { providersQuery } from './queries';
import { say } from './requests';
import { beginTalk } from './useTalk';
import type { Message } from './wire';

const WORDS = words(
  {
    head: 'New chat', title: 'What would you like to do?', with: (name: string) => `Talk to ${name}`, alone: 'Without an agent, the default model answers and calls no tools.',
    tools: (count: number) => (count === 1 ? '1 tool' : `${count} tools`), change: 'Change this agent', make: 'Make an agent', makeText: 'An agent has instructions and tools of its own.',
    viewer: 'Talking to agents needs the role caller.', off: 'This agent is off. Switch it on, or choose another.',
    missing: 'There is no such agent. Choose another.', notLoaded: 'The agent could not be loaded.', loading: 'The agent is being loaded.',
  },
  {
    head: '新对话', title: '今天想做些什么？', with: (name: string) => `与 ${name} 对话`, alone: '不使用智能体时，由默认模型回答，不会调用工具。',
    tools: (count: number) => `${count} 个工具`, change: '编辑此智能体', make: '创建智能体', makeText: '智能体有自己的指令和工具。',
    viewer: '与智能体对话需要调用者权限。', off: '此智能体已停用，请启用它或选择其他智能体。',
    missing: '没有这个智能体，请选择其他智能体。', notLoaded: '无法加载智能体。', loading: '正在加载智能体。',
  },
);

const FRESH = 'new';

export function NewTalkPage() {
  const t = useWords(WORDS);
  const { agent: wanted } = useSearch({ from: '/inside/chat/' });
  const navigate = useNavigate();
  const providers = useQuery(providersQuery);
  const mayCall = useMay('caller');
  const agent = useQuery({
    queryKey: ['agents', 'talk', wanted],
    queryFn: () => ask(api.GET('/api/agents/{id}', { params: { path: { id: wanted ?? '' } } })),
    enabled: wanted !== undefined,
  });
  const begin = useBegin(agent.data);
  const standing = wanted === undefined ? undefined : standingOf(agent.data, agent.error);
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
            {standing === 'notLoaded' && <LoadFailed error={agent.error} again={() => void agent.refetch()} />}
            {begin.error !== null && <ErrorNote>{wordsOf(begin.error)}</ErrorNote>}
            {mayCall ? (
              <div className={css.composer}>
                <Composer
                  draftId={FRESH} isUnderWay={begin.isPending} cannot={standing && t[standing]}
                  onSay={(said) => begin.mutateAsync(said).then(() => true, () => false)}
                  aside={<AgentPick agent={agent.data} onChoose={choose} />}
                />
              </div>
            ) : <Hint>{t.viewer}</Hint>}
            {mayCall && wanted === undefined && <AgentChoices />}
          </div>
        )}
      </div>
    </>
  );
}

/** Why one cannot talk to an agent. */
function standingOf(agent: Agent | undefined, error: Error | null): 'off' | 'missing' | 'notLoaded' | 'loading' | undefined {
  if (agent !== undefined) return agent.isActive ? undefined : 'off';
  if (error === null) return 'loading';
  return error instanceof ApiError && error.status === 404 ? 'missing' : 'notLoaded';
}

function useBegin(agent: Agent | undefined) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: async (said: Said) => {
      const messages: Message[] = [{ role: 'user', content: contentOf(said) }];
      const accepted = await say({ messages, ...(agent === undefined ? {} : { agentId: agent.id }) });
      beginTalk(queries, accepted, agent, messages);
      await navigate({ to: '/chat/$id', params: { id: accepted.conversationId } });
    },
  });
}

function About({ agent }: { agent: Agent | undefined }) {
  const t = useWords(WORDS);
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
