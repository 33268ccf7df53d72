// One call of a tool: how it stands in a line, and all that is known of it when it is opened.
import { useQuery } from '@tanstack/react-query';
import { ChevronRight, CircleCheck, CirclePause, CircleX, LoaderCircle } from 'lucide-react';
import { memo, type ReactNode, useCallback, useRef } from 'react';
import { Button, Disclosure, DisclosurePanel } from 'react-aria-components';

import { api, ask } from '@/api/client';
import { isEnded } from '@/api/task';
import { useFormat } from '@/i18n/format';
import { useKinds } from '@/i18n/kinds';
import { useWords, words } from '@/i18n/language';

import { ApprovalInTalk } from './ApprovalInTalk';
import css from './CallCard.module.css';
import { CallDetails } from './CallDetails';
import { PendingCall } from './PendingCall';
import { summaryOf } from './summary';
import type { Call, Result } from './wire';

const WORDS = words(
  { running: 'Running', waits: 'Waits', async: 'In the background', approval: 'Waits for approval', later: 'Waits for its answer', done: 'Done', failed: 'Failed', cached: 'cached' },
  { running: '运行中', waits: '等待中', async: '后台运行', approval: '等待审批', later: '等待返回', done: '完成', failed: '失败', cached: '缓存' },
);

const PAUSE = 1000;

/** The task behind a call that is not done, asked after as long as it goes on. */
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
  // Told to the agent with the next message, and to be seen before.
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
      {isPending && result === undefined && call.reason === 'approval' && call.taskId !== undefined && <ApprovalInTalk id={call.taskId} onLeft={toLine} />}
      {isPending && result === undefined && call.reason !== 'approval' && <PendingCall call={call} task={task} />}
      <DisclosurePanel className={css.panel ?? ''}><CallDetails call={call} result={result} /></DisclosurePanel>
    </Disclosure>
  );
});

function Mark({ call: { status, reason }, result }: { call: Call; result: Result | undefined }) {
  const t = useWords(WORDS);
  if (result !== undefined) {
    return result.success
      ? <CircleCheck size={16} role="img" aria-label={t.done} className={css.good} />
      : <CircleX size={16} role="img" aria-label={t.failed} className={css.bad} />;
  }
  if (status === 'pending' && reason !== 'async') return <CirclePause size={16} role="img" aria-label={t.waits} className={css.waits} />;
  return <LoaderCircle size={16} role="img" aria-label={t.running} className={css.spin} />;
}

function Outcome({ call: { status, reason }, result }: { call: Call; result: Result | undefined }): ReactNode {
  const t = useWords(WORDS);
  const kinds = useKinds();
  const format = useFormat();
  if (result === undefined) return status === 'pending' && reason !== undefined ? <span className={css.outcome}>{t[reason]}</span> : null;
  if (!result.success) return <span className={`${css.outcome} ${css.bad}`}>{kinds[result.error.kind]}</span>;
  return <span className={css.outcome}>{result.cached ? t.cached : format.duration(result.executionTime)}</span>;
}
