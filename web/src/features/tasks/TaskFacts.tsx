// The facts of a task other than its arguments and its result.
import { Link } from '@tanstack/react-router';
import { ArrowUpRight } from 'lucide-react';
import type { ReactNode } from 'react';

import { short, useAgentName, usePersonName } from '@/api/names';
import { CopyButton } from '@/components/CopyButton';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import css from './TaskPanel.module.css';
import type { Task } from './tasks';

const TEXTS = texts(
  {
    tool: 'Tool', call: 'Call', record: 'Open in Calls', agent: 'Agent', user: 'User', conversation: 'Conversation', id: 'Task id', callId: 'Call id', copy: 'Copy id',
    taken: 'Created', started: 'Started', ended: 'Ended', due: 'Resumes', priority: 'Priority', attempts: 'Attempts', claims: 'Claimed by a worker',
    deaths: 'Worker crashes', times: (text: string, count: number) => (count === 1 ? 'once' : `${text} times`),
  },
  {
    tool: '工具', call: '调用', record: '打开调用记录', agent: '智能体', user: '用户', conversation: '会话', id: '任务 ID', callId: '调用 ID', copy: '复制 ID',
    taken: '提交时间', started: '开始时间', ended: '结束时间', due: '继续时间', priority: '优先级', attempts: '尝试次数', claims: '被领取',
    deaths: '执行进程中断', times: (text: string) => `${text} 次`,
  },
);

export function TaskFacts({ task }: { task: Task }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const agentName = useAgentName();
  const personName = usePersonName();
  const id = (value: string) => <><code>{value}</code><CopyButton iconOnly text={value} label={t.copy} /></>;
  const time = (at: string) => <><time dateTime={at}>{format.time(at)}</time><span className="quiet">{format.ago(at)}</span></>;
  const times = (count: number) => t.times(format.count(count), count);
  const { toolId, agentId, userId, conversationId, callId, startedAt, endedAt, dueAt, result } = task;
  const facts: [string, ReactNode][] = [
    [t.tool, <Link key="v" to="/tools/$id" params={{ id: toolId }} search={{ tab: undefined }}>{task.toolName}</Link>],
  ];
  // The call is logged once the task has ended.
  if (callId !== null && startedAt !== null && endedAt !== null) facts.push([t.call, <RecordLink key="v" callId={callId} />]);
  if (agentId !== null) facts.push([t.agent, <Link key="v" to="/agents/$id" params={{ id: agentId }}>{agentName(agentId) ?? short(agentId)}</Link>]);
  if (userId !== null) facts.push([t.user, personName(userId) ?? id(userId)]);
  facts.push([t.taken, time(task.createdAt)]);
  if (startedAt !== null) facts.push([t.started, time(startedAt)]);
  if (dueAt !== null) facts.push([t.due, time(dueAt)]);
  if (endedAt !== null) facts.push([t.ended, time(endedAt)]);
  if (result !== null) facts.push([t.attempts, format.count(result.attempts)]);
  facts.push([t.claims, times(task.claims)]);
  if (task.deaths > 0) facts.push([t.deaths, times(task.deaths)]);
  facts.push([t.priority, format.count(task.priority)]);
  if (conversationId !== null) facts.push([t.conversation, id(conversationId)]);
  facts.push([t.id, id(task.id)]);
  if (callId !== null && callId !== task.id) facts.push([t.callId, id(callId)]);
  return (
    <dl className={css.facts}>
      {facts.map(([name, value]) => <Fact key={name} name={name} value={value} />)}
    </dl>
  );
}

function Fact({ name, value }: { name: string; value: ReactNode }) {
  return <><dt>{name}</dt><dd>{value}</dd></>;
}

const NO_FILTERS = {
  tool: undefined, agent: undefined, status: undefined, kind: undefined, source: undefined, from: undefined, to: undefined, q: undefined,
};

function RecordLink({ callId }: { callId: string }) {
  const t = useTexts(TEXTS);
  return <Link to="/calls" search={{ ...NO_FILTERS, call: callId }}>{t.record}<ArrowUpRight size={14} aria-hidden /></Link>;
}
