// Snippets to copy one after the other, each with a description.
import { CodeBlock } from '@/components/Code';
import { texts, useTexts } from '@/i18n/language';

import css from './ConnectSection.module.css';
import type { Snippet } from './snippets';

const TEXTS = texts(
  {
    list: 'List the tools', call: 'Call a tool', login: 'Log in once', loginAbout: 'The login is stored on your machine. The variable takes precedence over the login, so unset it afterwards.',
    install: 'Install the library', ask: 'Ask the agent',
  },
  {
    list: '查看有哪些工具', call: '调用一个工具', login: '登录一次', loginAbout: '登录信息保存在你的机器上。环境变量优先于登录信息，因此随后将其清除。',
    install: '安装库', ask: '向智能体提问',
  },
);

export function Steps({ of }: { of: readonly Snippet[] }) {
  const t = useTexts(TEXTS);
  return (
    <div className={css.steps}>
      {of.map(({ step, text }) => <Step key={step} title={t[step]} about={step === 'login' ? t.loginAbout : undefined} text={text} />)}
    </div>
  );
}

interface StepProps {
  title: string;
  about?: string | undefined;
  text: string;
  /** True if the steps are a separate section, not part of another one. */
  isPart?: boolean;
}

export function Step({ title, about, text, isPart = false }: StepProps) {
  return (
    <div className={css.step}>
      {isPart ? <h3 className={css.partTitle}>{title}</h3> : <h4 className={css.stepTitle}>{title}</h4>}
      {about !== undefined && <p className="quiet small">{about}</p>}
      <CodeBlock text={text} label={title} />
    </div>
  );
}
