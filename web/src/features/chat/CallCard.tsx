// One tool call: a line with its status, and its details when expanded.
import { useQuery } from '@tanstack/react-query';
import { ChevronRight, CircleCheck, CirclePause, CircleX, LoaderCircle } from 'lucide-react';
import { memo, type ReactNode, useCallback, useRef } from 'react';
import { Button, Disclosure, DisclosurePanel } from 'react-aria-components';

import { api, ask } from '@/api/client';
import { isEnded } from '@/api/task';
import { useFormat } from '@/i18n/format';
import { useKinds } from '@/i18n/kinds';
import { texts, useTexts } from '@/i18n/language';

import { ChatApproval } from './ChatApproval';
import css from './CallCard.module.css';
import { CallDetails } from './CallDetails';
import { PendingCall } from './PendingCall';
import { summaryOf } from './summary';
import type { Call, Result } from './wire';

const TEXTS = texts(
  { running: 'Running', waits: 'Waiting', async: 'In the background', approval: 'Waiting for approval', later: 'Waiting for its result', done: 'Done', failed: 'Failed', cached: 'cached' },
  { running: '运行中', waits: '等待中', async: '后台运行', approval: '等待审批', later: '等待返回', done: '完成', failed: '失败', cached: '缓存' },
);

const PAUSE = 1000;

/** Polls the task of a pending call until it has ended. */
function useTask({ status, taskId }: Call) {
  return useQuery({
    queryKey: ['tasks', 'one', taskId],
    queryFn: () => ask(api.GET('/api/tasks/{id}', { params: { path: { id: taskId ?? '' } } })),
    enabled: status === 'pending' && taskId !== undefined,
    staleTime: 0,
    refetchInterval: ({ state: { data } }) => (data !== undefined && isEnded(data) ? false : PAUSE),
  });
}

export const CallCard = memo(function CallCard({ call }: { call: Call }) {
  const task = useTask(call).data;
  const isPending = call.status === 'pending';
  // The agent receives the result with the next message; the user sees it before that.
  const result = call.result ?? (isPending ? task?.result ?? undefined : undefined);
  const line = useRef<HTMLButtonElement>(null);
  const toLine = useCallback(() => line.current?.focus({ preventScroll: true }), []);
  return (
    <Disclosure className={css.card ?? ''}>
      <Button ref={line} slot="trigger" className={css.line ?? ''}>
        <Mark call={call} result={result} />
        <code className={css.name}>{call.name}</code>
        <span className={css.summary}>{summaryOf(call.arguments)}</span>
        <Outcome call={call} result={result} />
        <ChevronRight size={15} aria-hidden className={css.arrow} />
      </Button>
      {isPending && result === undefined && call.reason === 'approval' && call.taskId !== undefined && <ChatApproval id={call.taskId} onFocusLost={toLine} />}
      {isPending && result === undefined && call.reason !== 'approval' && <PendingCall call={call} task={task} />}
      <DisclosurePanel className={css.panel ?? ''}><CallDetails call={call} result={result} /></DisclosurePanel>
    </Disclosure>
  );
});

function Mark({ call: { status, reason }, result }: { call: Call; result: Result | undefined }) {
  const t = useTexts(TEXTS);
  if (result !== undefined) {
    return result.success
      ? <CircleCheck size={16} role="img" aria-label={t.done} className={css.good} />
      : <CircleX size={16} role="img" aria-label={t.failed} className={css.bad} />;
  }
  if (status === 'pending' && reason !== 'async') return <CirclePause size={16} role="img" aria-label={t.waits} className={css.waits} />;
  return <LoaderCircle size={16} role="img" aria-label={t.running} className={css.spin} />;
}

function Outcome({ call: { status, reason }, result }: { call: Call; result: Result | undefined }): ReactNode {
  const t = useTexts(TEXTS);
  const kinds = useKinds();
  const format = useFormat();
  if (result === undefined) return status === 'pending' && reason !== undefined ? <span className={css.outcome}>{t[reason]}</span> : null;
  if (!result.success) return <span className={`${css.outcome} ${css.bad}`}>{kinds[result.error.kind]}</span>;
  return <span className={css.outcome}>{result.cached ? t.cached : format.duration(result.executionTime)}</span>;
}
