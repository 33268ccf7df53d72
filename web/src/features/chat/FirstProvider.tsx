// The empty state without a model: how to connect one, and a sample that works without.
import { Link, useSearch } from '@tanstack/react-router';
import { MessagesSquare, PlayCircle } from 'lucide-react';

import { errorText } from '@/api/client';
import { useMay } from '@/api/me';
import { useSample } from '@/api/sample';
import { Button } from '@/components/Button';
import { CodeBlock } from '@/components/Code';
import { ErrorNote, Hint } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import css from './NewChat.module.css';

const TEXTS = texts(
  {
    title: 'Add a model', text: 'Connect a model to start chatting.',
    environment: 'From the environment', environmentText: 'Start Haft with an API key, or run Ollama on this machine: Haft finds it automatically.', variables: 'Variables',
    settings: 'In the settings', settingsText: 'OpenAI and compatible servers, Anthropic, Gemini, Ollama. Keys are stored encrypted.', add: 'Add a provider',
    sample: 'Without a model', sampleText: 'A sample agent that follows a script. It is not a model, but it really calls the calculator, without network access.', trySample: 'Try the sample',
    ask: 'Admins of this space add providers.',
  },
  {
    title: '先要有一个模型', text: '智能体靠模型思考。指定一个模型服务，就可以在这里对话。',
    environment: '通过环境变量', environmentText: '启动 Haft 时提供密钥，或在本机运行 Ollama，会自动发现。', variables: '环境变量',
    settings: '在设置中添加', settingsText: 'OpenAI 及所有兼容服务、Anthropic、Gemini、Ollama。密钥加密保存。', add: '添加模型服务',
    sample: '先看看效果', sampleText: '一个按脚本回答的示例智能体。它不是模型，但会真实调用计算器，无需网络。', trySample: '试用示例',
    ask: '由空间管理员添加模型服务。',
  },
);

const VARIABLES = 'OPENAI_API_KEY=…\nANTHROPIC_API_KEY=…\nGEMINI_API_KEY=…\nDEEPSEEK_API_KEY=…\nZHIPU_API_KEY=…\nOLLAMA_HOST=…';

export function FirstProvider() {
  const t = useTexts(TEXTS);
  const { agent } = useSearch({ from: '/inside/chat/' });
  const mayAdd = useMay('admin');
  const sample = useSample();
  return (
    <div className={`${css.begin} ${css.wide}`}>
      <span className={css.icon} aria-hidden><MessagesSquare /></span>
      <h2 className={css.title}>{t.title}</h2>
      <p className={css.about}>{t.text}</p>
      {sample.error !== null && <ErrorNote>{errorText(sample.error)}</ErrorNote>}
      {!mayAdd && <Hint>{t.ask}</Hint>}
      <div className={css.options}>
        <section className={css.way}>
          <h3>{t.environment}</h3>
          <p className="quiet small">{t.environmentText}</p>
          <CodeBlock label={t.variables} text={VARIABLES} />
        </section>
        <section className={css.way}>
          <h3>{t.settings}</h3>
          <p className="quiet small">{t.settingsText}</p>
          <div><Link to="/settings" search={{ tab: 'providers' }} className={css.link ?? ''}>{t.add}</Link></div>
        </section>
        {mayAdd && (
          <section className={css.way}>
            <h3>{t.sample}</h3>
            <p className="quiet small">{t.sampleText}</p>
            <div><Button icon={<PlayCircle aria-hidden />} isPending={sample.isPending} onPress={() => sample.mutate(agent)}>{t.trySample}</Button></div>
          </section>
        )}
      </div>
    </div>
  );
}
