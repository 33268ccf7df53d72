// A new place: three steps to the first call, and one that works right away.
import { Link } from '@tanstack/react-router';
import { Calculator, Hammer, Play, Plug } from 'lucide-react';
import type { ReactNode } from 'react';

import { useMay } from '@/api/me';
import { Page } from '@/components/Page';
import { useWords, words } from '@/i18n/language';

import css from './Start.module.css';

const WORDS = words(
  {
    title: 'Welcome to Haft', about: 'Three steps, and agents hold their first tool.', make: 'Make a tool', makeText: 'Describe an HTTP request, paste a cURL command, or import an OpenAPI document.',
    newTool: 'New tool', importTools: 'Import', tryIt: 'Try it', tryText: 'Fill in a form drawn from its schema, send it, and see the request, the answer and the time it took.', tools: 'Choose a tool',
    connect: 'Connect a client', connectText: 'Claude Desktop, Cursor, VS Code, an OpenAI SDK: copy a snippet and your agent has the tools.', snippets: 'Show the snippets',
    example: 'Nothing at hand?', exampleText: 'The calculator is built in and works without any network.', calculate: 'Try the calculator',
  },
  {
    title: '欢迎使用 Haft', about: '三步，让智能体握住第一个工具。', make: '创建工具', makeText: '描述一个 HTTP 请求，粘贴一条 cURL 命令，或导入 OpenAPI 文档。',
    newTool: '新建工具', importTools: '导入', tryIt: '试一试', tryText: '根据结构定义生成表单，填写并发送，即可看到请求、返回和耗时。', tools: '选择工具',
    connect: '连接客户端', connectText: 'Claude Desktop、Cursor、VS Code 或 OpenAI SDK：复制一段配置，智能体就能使用这些工具。', snippets: '查看配置',
    example: '手边还没有工具？', exampleText: '计算器是内置的，无需网络即可使用。', calculate: '试用计算器',
  },
);

export function Start() {
  const t = useWords(WORDS);
  const mayEdit = useMay('editor');
  return (
    <Page title={t.title} about={t.about}>
      <ol className={css.steps}>
        <Step number={1} icon={<Hammer />} title={t.make} text={t.makeText}>
          {mayEdit && <Link to="/tools/new" className={css.primary ?? ''}>{t.newTool}</Link>}
          {mayEdit && <Link to="/tools/import" className={css.plain ?? ''}>{t.importTools}</Link>}
        </Step>
        <Step number={2} icon={<Play />} title={t.tryIt} text={t.tryText}>
          <Link to="/tools" search={{ q: undefined, category: undefined }} className={css.plain ?? ''}>{t.tools}</Link>
        </Step>
        <Step number={3} icon={<Plug />} title={t.connect} text={t.connectText}>
          <Link to="/settings" search={{ tab: 'connect' }} className={css.plain ?? ''}>{t.snippets}</Link>
        </Step>
      </ol>
      <section className={css.example}>
        <span className={css.icon} aria-hidden><Calculator /></span>
        <div>
          <h2>{t.example}</h2>
          <p className="quiet">{t.exampleText}</p>
        </div>
        <Link to="/tools/$id" params={{ id: 'calculator' }} search={{ tab: 'try' }} className={css.plain ?? ''}>{t.calculate}</Link>
      </section>
    </Page>
  );
}

interface StepProps {
  number: number;
  icon: ReactNode;
  title: string;
  text: string;
  children: ReactNode;
}

function Step({ number, icon, title, text, children }: StepProps) {
  return (
    <li className={css.step}>
      <span className={css.stepHead} aria-hidden><span className={css.icon}>{icon}</span><span className={css.numeral}>{number}</span></span>
      <h2>{title}</h2>
      <p className="quiet">{text}</p>
      <div className={css.links}>{children}</div>
    </li>
  );
}
