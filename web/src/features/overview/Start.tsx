// The empty state of a new space: the steps to a first call that the user may take, and an example that works
// at once.
import { Link } from '@tanstack/react-router';
import { Bot, Calculator, Hammer, MessagesSquare, Play, Plug } from 'lucide-react';
import type { ReactNode } from 'react';

import { useMay } from '@/api/me';
import { Page } from '@/components/Page';
import { texts, useTexts } from '@/i18n/language';

import { AskPassword } from './AskPassword';
import css from './Start.module.css';

const TEXTS = texts(
  {
    title: 'Welcome to Haft', about: 'Four steps to your first agent.', make: 'Create a tool', makeText: 'Describe an HTTP request, paste a cURL command, or import an OpenAPI document.',
    newTool: 'New tool', importTools: 'Import', tryIt: 'Try it', tryText: 'Fill in the form of a tool, send the request, and see the response and its duration.', tools: 'Choose a tool',
    talk: 'Chat with an agent', talkText: 'Ask a question, and watch the agent call tools.', toChat: 'Start a chat',
    connect: 'Connect a client', connectText: 'curl, JavaScript, Python or the command line: copy a snippet to call tools from your program.', snippets: 'Show the snippets',
    example: 'No API yet?', exampleText: 'The calculator is built in and works without network access.', calculate: 'Try the calculator',
    callerAbout: 'Three steps to the first tool call of your program.', viewerAbout: 'No tool was called in this space yet. This page shows statistics as soon as there are calls.',
    seeTools: 'Look at the tools', seeToolsText: 'What agents can do here, with the arguments and limits of each.', toTools: 'Show the tools',
    seeAgents: 'Look at the agents', seeAgentsText: 'Their instructions, and the tools that each of them uses.', toAgents: 'Show the agents',
  },
  {
    title: '欢迎使用 Haft', about: '四步，即可拥有第一个智能体。', make: '创建工具', makeText: '描述一个 HTTP 请求，粘贴一条 cURL 命令，或导入 OpenAPI 文档。',
    newTool: '新建工具', importTools: '导入', tryIt: '试一试', tryText: '根据结构定义生成表单，填写并发送，即可看到请求、返回和耗时。', tools: '选择工具',
    talk: '与智能体对话', talkText: '用自己的话提出需求，看它调用了哪些工具、得到了什么结果。', toChat: '开始对话',
    connect: '连接客户端', connectText: 'curl、JavaScript、Python 或命令行：复制一段代码，你的程序就能使用这些工具。', snippets: '查看代码',
    example: '手边还没有工具？', exampleText: '计算器是内置的，无需网络即可使用。', calculate: '试用计算器',
    callerAbout: '三步，让你的程序调用第一个工具。', viewerAbout: '此空间还没有任何调用。一旦有了调用，这里就会显示运行情况。',
    seeTools: '查看工具', seeToolsText: '智能体在这里能做什么，以及各个工具的参数和限制。', toTools: '前往工具',
    seeAgents: '查看智能体', seeAgentsText: '谁可以使用哪些工具，以及它们的指令。', toAgents: '前往智能体',
  },
);

export function Start() {
  const mayCall = useMay('caller');
  const mayEdit = useMay('editor');
  if (!mayCall) return <Look />;
  return <Begin mayEdit={mayEdit} />;
}

/** For users with the right to call tools; with `mayEdit` also to create them. */
function Begin({ mayEdit }: { mayEdit: boolean }) {
  const t = useTexts(TEXTS);
  return (
    <Page title={t.title} about={mayEdit ? t.about : t.callerAbout}>
      <AskPassword />
      <ol className={css.steps}>
        {mayEdit && (
          <Step number={1} icon={<Hammer />} title={t.make} text={t.makeText}>
            <Link to="/tools/new" className={css.primary ?? ''}>{t.newTool}</Link>
            <Link to="/tools/import" className={css.plain ?? ''}>{t.importTools}</Link>
          </Step>
        )}
        <Step number={mayEdit ? 2 : 1} icon={<Play />} title={t.tryIt} text={t.tryText}>
          <Link to="/tools" search={ALL_TOOLS} className={(mayEdit ? css.plain : css.primary) ?? ''}>{t.tools}</Link>
        </Step>
        <Step number={mayEdit ? 3 : 2} icon={<MessagesSquare />} title={t.talk} text={t.talkText}>
          <Link to="/chat" search={{ agent: undefined }} className={css.plain ?? ''}>{t.toChat}</Link>
        </Step>
        <Step number={mayEdit ? 4 : 3} icon={<Plug />} title={t.connect} text={t.connectText}>
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

/** For users who may only read. */
function Look() {
  const t = useTexts(TEXTS);
  return (
    <Page title={t.title} about={t.viewerAbout}>
      <AskPassword />
      <ul className={css.steps}>
        <Step icon={<Hammer />} title={t.seeTools} text={t.seeToolsText}>
          <Link to="/tools" search={ALL_TOOLS} className={css.plain ?? ''}>{t.toTools}</Link>
        </Step>
        <Step icon={<Bot />} title={t.seeAgents} text={t.seeAgentsText}>
          <Link to="/agents" className={css.plain ?? ''}>{t.toAgents}</Link>
        </Step>
      </ul>
    </Page>
  );
}

const ALL_TOOLS = { q: undefined, category: undefined };

interface StepProps {
  /** The number of the step, if the steps are in order. */
  number?: number;
  icon: ReactNode;
  title: string;
  text: string;
  children: ReactNode;
}

function Step({ number, icon, title, text, children }: StepProps) {
  return (
    <li className={css.step}>
      <span className={css.stepHead} aria-hidden><span className={css.icon}>{icon}</span>{number !== undefined && <span className={css.numeral}>{number}</span>}</span>
      <h2>{title}</h2>
      <p className="quiet">{text}</p>
      <div className={css.links}>{children}</div>
    </li>
  );
}
