// How OpenAI clients use an agent of this space: its name is the model.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';

import { api, ask } from '@/api/client';
import { useMay } from '@/api/me';
import { Select } from '@/components/Field';
import { Hint } from '@/components/Note';
import { Tabs } from '@/components/Tabs';
import { texts, useTexts } from '@/i18n/language';

import css from './ConnectSection.module.css';
import { type OpenAiClient, openAiSnippets } from './snippets';
import { Steps } from './Steps';

const TEXTS = texts(
  {
    title: 'Agents, through OpenAI’s libraries', about: 'Point any OpenAI client at this server: set its address, a token, and the name of an agent as the model. The agent’s tools run here.',
    client: 'OpenAI client', agent: 'Agent', question: 'How much is 12.7 cm in inches?', example: 'assistant',
    none: 'There is no active agent in this space yet.', make: 'Create one',
  },
  {
    title: '智能体（通过 OpenAI 的库）', about: '凡是能连接 OpenAI 的程序都能连接本服务器：填写地址和令牌，并以智能体的名称作为模型。智能体的工具在这里运行。',
    client: 'OpenAI 客户端', agent: '智能体', question: '12.7 厘米是多少英寸？', example: 'assistant',
    none: '此空间还没有启用的智能体。', make: '创建一个',
  },
);

const CLIENTS: readonly [OpenAiClient, string][] = [['openaiPython', 'OpenAI Python'], ['openaiJavascript', 'OpenAI JavaScript'], ['openaiCurl', 'curl']];

const MAX_ITEMS = 200;

const agentsQuery = {
  queryKey: ['agents', 'connect'],
  queryFn: async () => (await ask(api.GET('/api/agents', { params: { query: { limit: MAX_ITEMS } } }))).items.filter(({ isActive }) => isActive),
};

export function OpenAiClients({ origin }: { origin: string }) {
  const t = useTexts(TEXTS);
  const mayEdit = useMay('editor');
  const { data } = useQuery(agentsQuery);
  const [chosen, setChosen] = useState<string>();
  const names = data?.map(({ name }) => name) ?? [];
  const agent = names.find((name) => name === chosen) ?? names[0] ?? t.example;
  return (
    <section className={css.part} aria-label={t.title}>
      <h3 className={css.partTitle}>{t.title}</h3>
      <p className="quiet">{t.about}</p>
      {data?.length === 0 && <Hint>{t.none} {mayEdit && <Link to="/agents/$id" params={{ id: 'new' }}>{t.make}</Link>}</Hint>}
      {names.length > 1 && (
        <div className={css.agent}><Select label={t.agent} value={agent} options={names.map((name) => ({ value: name, label: name }))} onChange={setChosen} /></div>
      )}
      <Tabs
        label={t.client}
        tabs={CLIENTS.map(([client, label]) => ({ id: client, label, content: <Steps of={openAiSnippets(client, origin, agent, t.question)} /> }))}
      />
    </section>
  );
}
