// The facts of a call other than its arguments and its result.
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import type { Schemas } from '@/api/client';
import { short, useAgentName, usePersonName } from '@/api/names';
import { CopyButton } from '@/components/CopyButton';
import { Badge } from '@/components/Note';
import { useFormat } from '@/i18n/format';
import { useSources } from '@/i18n/kinds';
import { texts, useTexts } from '@/i18n/language';

import css from './CallPanel.module.css';

const TEXTS = texts(
  {
    tool: 'Tool', version: (number: string) => `version ${number}`, noTool: 'Unknown tool', agent: 'Agent', user: 'User', source: 'Source', conversation: 'Conversation',
    callId: 'Call id', rowId: 'Log id', copy: 'Copy id', started: 'Started', duration: 'Duration', attempts: 'Attempts', cached: 'From cache', yes: 'Yes', no: 'No',
    coerced: 'Converted', replayOf: 'Replay of', openCall: 'the earlier call',
  },
  {
    tool: '工具', version: (number: string) => `版本 ${number}`, noTool: '没有这个工具', agent: '智能体', user: '用户', source: '来源', conversation: '会话',
    callId: '调用 ID', rowId: '记录 ID', copy: '复制 ID', started: '开始时间', duration: '耗时', attempts: '尝试次数', cached: '来自缓存', yes: '是', no: '否',
    coerced: '已自动转换', replayOf: '重放自', openCall: '先前的调用',
  },
);

export function CallFacts({ call }: { call: Schemas['ToolCall'] }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const sources = useSources();
  const agentName = useAgentName();
  const personName = usePersonName();
  const id = (value: string) => <><code>{value}</code><CopyButton iconOnly text={value} label={t.copy} /></>;
  const facts: [string, ReactNode][] = [
    [t.tool, <ToolOf key="v" call={call} />],
    [t.source, sources[call.source]],
    [t.started, <><time dateTime={call.startedAt}>{format.time(call.startedAt)}</time><span className="quiet">{format.ago(call.startedAt)}</span></>],
    [t.duration, format.duration(call.duration)],
    [t.attempts, format.count(call.attempts)],
    [t.cached, call.cached ? t.yes : t.no],
    [t.callId, id(call.callId)],
  ];
  if (call.id !== call.callId) facts.push([t.rowId, id(call.id)]);
  if (call.agentId !== null) {
    facts.push([t.agent, <Link key="v" to="/agents/$id" params={{ id: call.agentId }}>{agentName(call.agentId) ?? short(call.agentId)}</Link>]);
  }
  if (call.userId !== null) facts.push([t.user, personName(call.userId) ?? id(call.userId)]);
  if (call.conversationId !== null) facts.push([t.conversation, id(call.conversationId)]);
  if (call.coerced.length > 0) facts.push([t.coerced, call.coerced.map((path) => <Badge key={path}>{path}</Badge>)]);
  if (call.replayOf !== null) facts.push([t.replayOf, <CallLink key="v" id={call.replayOf}>{t.openCall}</CallLink>]);
  return (
    <dl className={css.facts}>
      {facts.map(([name, value]) => <Fact key={name} name={name} value={value} />)}
    </dl>
  );
}

function Fact({ name, value }: { name: string; value: ReactNode }) {
  return <><dt>{name}</dt><dd>{value}</dd></>;
}

function ToolOf({ call }: { call: Schemas['ToolCall'] }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  if (call.toolId === null) return <><code>{call.toolName}</code><span className="quiet">{t.noTool}</span></>;
  return (
    <>
      <Link to="/tools/$id" params={{ id: call.toolId }} search={{ tab: undefined }}>{call.toolName}</Link>
      {call.toolVersion !== null && <span className="quiet">{t.version(format.count(call.toolVersion))}</span>}
    </>
  );
}

/** Opens another call in the panel; the back button returns to this one. */
export function CallLink({ id, children }: { id: string; children: ReactNode }) {
  return <Link from="/calls" to="/calls" search={(old) => ({ ...old, call: id })} resetScroll={false}>{children}</Link>;
}
