// How to use this server from elsewhere, ready to be copied.
import { useNavigate } from '@tanstack/react-router';
import { Ticket } from 'lucide-react';

import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { CodeBlock } from '@/components/Code';
import { CopyButton } from '@/components/CopyButton';
import { Hint } from '@/components/Note';
import { Tabs } from '@/components/Tabs';
import { useWords, words } from '@/i18n/language';

import { Section } from '../parts/Section';
import { SECTION_WORDS } from '../sections';
import css from './ConnectSection.module.css';
import { type Client, type Snippet, snippets } from './snippets';

const WORDS = words(
  {
    about: 'Call the tools of this space from your own programs and scripts.', client: 'Client',
    cli: 'Command line', address: 'Address of this server', makeToken: 'Make a token for this',
    token: 'Put the token into the environment; the examples read it from there.',
    list: 'See which tools there are', call: 'Call one', login: 'Log in once', loginAbout: 'The login is kept on your machine. While the variable is set it wins over the login, so it is taken away again.',
    setToken: 'Set the token', document: 'All routes, with what they take and answer:',
    mayNot: 'Your role here is viewer: programs of yours may read this space, but not call its tools.',
  },
  {
    about: '在你自己的程序和脚本中调用此空间的工具。', client: '客户端',
    cli: '命令行', address: '本服务器的地址', makeToken: '为此创建令牌',
    token: '将令牌放入环境变量，下面的示例会从中读取。',
    list: '查看有哪些工具', call: '调用一个工具', login: '登录一次', loginAbout: '登录信息保存在你的机器上。环境变量优先于登录信息，因此随后将其清除。',
    setToken: '设置令牌', document: '全部接口及其参数和返回值：',
    mayNot: '你在此空间是查看者：你的程序可以读取此空间，但不能调用其中的工具。',
  },
);

const CLIENTS: readonly Client[] = ['curl', 'javascript', 'python', 'cli'];

/** Where who may not call is shown how to read. */
const READERS: readonly Client[] = ['curl', 'cli'];

export default function ConnectSection() {
  const t = useWords(WORDS);
  const names = useWords(SECTION_WORDS);
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
      <Step title={t.setToken} about={t.token} text="export HAFT_TOKEN='haft_…'" />
      <Tabs
        label={t.client}
        tabs={(mayCall ? CLIENTS : READERS).map((client) => ({
          id: client,
          label: clientName[client],
          content: <Steps of={snippets(client, origin).filter(({ step }) => mayCall || step !== 'call')} />,
        }))}
      />
      <p className="quiet small">
        {t.document} <a href="/api/docs" target="_blank" rel="noreferrer">{`${origin}/api/docs`}</a>
      </p>
    </Section>
  );
}

function Steps({ of }: { of: readonly Snippet[] }) {
  const t = useWords(WORDS);
  return (
    <div className={css.steps}>
      {of.map(({ step, text }) => <Step key={step} title={t[step]} about={step === 'login' ? t.loginAbout : undefined} text={text} />)}
    </div>
  );
}

function Step({ title, about, text }: { title: string; about?: string | undefined; text: string }) {
  return (
    <div className={css.step}>
      <h3>{title}</h3>
      {about !== undefined && <p className="quiet small">{about}</p>}
      <CodeBlock text={text} label={title} />
    </div>
  );
}
