// The panel with all details of one call, beside the list.
import { useQuery } from '@tanstack/react-query';
import { ChevronDown, ChevronUp } from 'lucide-react';

import { api, ApiError, ask, type Schemas } from '@/api/client';
import { IconButton } from '@/components/Button';
import { RefusingCircuit } from '@/components/circuit/RefusingCircuit';
import { Dialog } from '@/components/Dialog';
import { Badge, Hint, WarningNote } from '@/components/Note';
import { LoadFailed, Loading } from '@/components/Page';
import { Value } from '@/components/Value';
import { useFormat } from '@/i18n/format';
import { useKinds } from '@/i18n/kinds';
import { texts, useTexts } from '@/i18n/language';

import { CallFacts } from './CallFacts';
import css from './CallPanel.module.css';
import { CallActions } from './CallActions';
import { StatusMark } from './StatusMark';

const TEXTS = texts(
  {
    call: 'Call', newer: 'Newer call (k)', older: 'Older call (j)', args: 'Arguments', result: 'Result', details: 'Details of the error',
    argsCut: 'Truncated: the arguments were too long for the call log.', resultCut: 'Truncated: the result was longer than 16 KB.',
    noResult: 'No result.', warnings: 'Warnings', cached: 'Cached', facts: 'About this call',
    attempts: (count: string) => `${count} attempts`,
  },
  {
    call: '调用', newer: '较新的调用 (k)', older: '较早的调用 (j)', args: '参数', result: '结果', details: '错误详情',
    argsCut: '内容过长，没有完整保存：这是开头部分。', resultCut: '结果超过 16 KB：这是开头部分。',
    noResult: '没有结果。', warnings: '警告', cached: '缓存', facts: '关于此次调用',
    attempts: (count: string) => `尝试 ${count} 次`,
  },
);

/** Number of retries for a new call, whose row is written shortly after its response. */
const TRIES_FOR_NEW = 4;

export interface CallPanelProps {
  id: string | undefined;
  onClose: () => void;
  onMove: (by: number) => void;
}

export function CallPanel({ id, onClose, onMove }: CallPanelProps) {
  const t = useTexts(TEXTS);
  const call = useQuery({
    queryKey: ['calls', 'one', id],
    queryFn: () => ask(api.GET('/api/tool-calls/{id}', { params: { path: { id: id ?? '' } } })),
    enabled: id !== undefined,
    staleTime: 'static',
    retry: (tries, error) => tries < TRIES_FOR_NEW && (!(error instanceof ApiError) || error.status === 404 || error.status >= 500),
    retryDelay: 300,
  });
  return (
    <Dialog side title={call.data?.toolName ?? t.call} isOpen={id !== undefined} onClose={onClose}>
      {call.isPending && <Loading />}
      {call.error !== null && <LoadFailed error={call.error} again={() => void call.refetch()} />}
      {call.data !== undefined && <Content key={call.data.id} call={call.data} onMove={onMove} />}
    </Dialog>
  );
}

function Content({ call, onMove }: { call: Schemas['ToolCall']; onMove: (by: number) => void }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  return (
    <>
      <div className={css.summary}>
        <StatusMark status={call.status} />
        <strong>{format.duration(call.duration)}</strong>
        {call.attempts > 1 && <Badge tone="warn">{t.attempts(format.count(call.attempts))}</Badge>}
        {call.cached && <Badge tone="accent">{t.cached}</Badge>}
        <time dateTime={call.startedAt} className="quiet">{format.time(call.startedAt)}</time>
        <span className={css.moves}>
          <IconButton label={t.newer} onPress={() => onMove(-1)}><ChevronUp aria-hidden /></IconButton>
          <IconButton label={t.older} onPress={() => onMove(1)}><ChevronDown aria-hidden /></IconButton>
        </span>
      </div>
      {call.error !== null && <Failure error={call.error} />}
      <CallActions call={call} />
      <section className={css.part}>
        <h3>{t.args}</h3>
        {call.argumentsCut && <Hint>{t.argsCut}</Hint>}
        <Value value={call.arguments} label={t.args} />
      </section>
      {call.status === 'success' && (
        <section className={css.part}>
          <h3>{t.result}</h3>
          {call.resultCut && <Hint>{t.resultCut}</Hint>}
          <Value value={call.result} label={t.result} />
        </section>
      )}
      {call.warnings.length > 0 && (
        <WarningNote>
          {t.warnings}
          <ul>{call.warnings.map(({ path, message }) => <li key={`${path} ${message}`}><code>{path}</code> {message}</li>)}</ul>
        </WarningNote>
      )}
      <section className={css.part}>
        <h3>{t.facts}</h3>
        <CallFacts call={call} />
      </section>
    </>
  );
}

function Failure({ error }: { error: Schemas['ToolCallError'] }) {
  const t = useTexts(TEXTS);
  const kinds = useKinds();
  return (
    <div className={css.failure}>
      <strong className={css.kind}>{kinds[error.kind]}</strong>
      <p className={css.message}>{error.message}</p>
      <RefusingCircuit error={error} />
      {Object.keys(error.details).length > 0 && <Value value={error.details} label={t.details} />}
    </div>
  );
}
