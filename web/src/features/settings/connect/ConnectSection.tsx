// How to use this server from other programs, with snippets to copy.
import { useNavigate } from '@tanstack/react-router';
import { Ticket } from 'lucide-react';

import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { CopyButton } from '@/components/CopyButton';
import { Hint } from '@/components/Note';
import { Tabs } from '@/components/Tabs';
import { texts, useTexts } from '@/i18n/language';

import { Section } from '../parts/Section';
import { SECTION_TEXTS } from '../sections';
import css from './ConnectSection.module.css';
import { OpenAiClients } from './OpenAiClients';
import { type Client, snippets } from './snippets';
import { Step, Steps } from './Steps';

const TEXTS = texts(
  {
    about: 'Call the tools of this space, and chat with its agents, from your own programs and scripts.', client: 'Client', tools: 'Tools',
    cli: 'Command line', address: 'Address of this server', makeToken: 'Create a token',
    token: 'Set the token as an environment variable; the examples read it from there.',
    setToken: 'Set the token', document: 'Reference of all routes:',
    mayNot: 'Your role here is viewer: your programs may read this space, but not call its tools.',
  },
  {
    about: '在你自己的程序和脚本中调用此空间的工具，并与其智能体对话。', client: '客户端', tools: '工具',
    cli: '命令行', address: '本服务器的地址', makeToken: '为此创建令牌',
    token: '将令牌放入环境变量，下面的示例会从中读取。',
    setToken: '设置令牌', document: '全部接口及其参数和返回值：',
    mayNot: '你在此空间是查看者：你的程序可以读取此空间，但不能调用其中的工具。',
  },
);

const CLIENTS: readonly Client[] = ['curl', 'javascript', 'python', 'cli'];

/** Clients shown to users who may not call tools. */
const READERS: readonly Client[] = ['curl', 'cli'];

export default function ConnectSection() {
  const t = useTexts(TEXTS);
  const names = useTexts(SECTION_TEXTS);
  const navigate = useNavigate();
  const mayCall = useMay('caller');
  const { origin } = location;
  const clientName: Record<Client, string> = { curl: 'curl', javascript: 'JavaScript', python: 'Python', cli: t.cli };
  const makeToken = () => void navigate({ to: '/settings', search: { tab: 'tokens' }, hash: 'new' });
  return (
    <Section
      title={names.connect} about={t.about}
      actions={<Button look="primary" icon={<Ticket aria-hidden />} onPress={makeToken}>{t.makeToken}</Button>}
    >
      {!mayCall && <Hint>{t.mayNot}</Hint>}
      <div className={css.address}>
        <span className={css.addressLabel}>{t.address}</span>
        <code>{origin}</code>
        <CopyButton text={origin} iconOnly />
      </div>
      <Step isPart title={t.setToken} about={t.token} text="export HAFT_TOKEN='haft_…'" />
      <section className={css.part} aria-label={t.tools}>
        <h3 className={css.partTitle}>{t.tools}</h3>
        <Tabs
          label={t.client}
          tabs={(mayCall ? CLIENTS : READERS).map((client) => ({
            id: client,
            label: clientName[client],
            content: <Steps of={snippets(client, origin).filter(({ step }) => mayCall || step !== 'call')} />,
          }))}
        />
      </section>
      {mayCall && <OpenAiClients origin={origin} />}
      <p className="quiet small">
        {t.document} <a href="/api/docs" target="_blank" rel="noreferrer">{`${origin}/api/docs`}</a>
      </p>
    </Section>
  );
}
