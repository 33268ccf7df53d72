// The panel with all details of one task, beside the list.
import { useQuery } from '@tanstack/react-query';
import { ChevronDown, ChevronUp } from 'lucide-react';

import { api, ask } from '@/api/client';
import { IconButton } from '@/components/Button';
import { RefusingCircuit } from '@/components/circuit/RefusingCircuit';
import { Dialog } from '@/components/Dialog';
import { Badge, WarningNote } from '@/components/Note';
import { LoadFailed, Loading } from '@/components/Page';
import { Progress } from '@/components/Progress';
import { useTaskStatusText } from '@/components/taskStatusText';
import { useNow } from '@/components/useNow';
import { Value } from '@/components/Value';
import { useFormat } from '@/i18n/format';
import { useKinds } from '@/i18n/kinds';
import { texts, useTexts } from '@/i18n/language';

import { TaskActions } from './TaskActions';
import { TaskFacts } from './TaskFacts';
import { TaskMark } from './TaskMark';
import css from './TaskPanel.module.css';
import { durationOf, failureOf, isEnded, progressOf, type Task } from './tasks';

const TEXTS = texts(
  {
    task: 'Task', newer: 'Newer task (k)', older: 'Older task (j)', args: 'Arguments', result: 'Result', details: 'Details of the error', facts: 'About this task',
    dead: 'Dead letter', unknown: 'It is not retried automatically. Check whether it took effect and record the outcome, or try it again.',
  },
  {
    task: '任务', newer: '较新的任务 (k)', older: '较早的任务 (j)', args: '参数', result: '结果', details: '错误详情', facts: '关于此任务',
    dead: '死信', unknown: '系统不会自动重发。请核实是否已生效并确认结果，或者重试。',
  },
);

const BUSY_PAUSE = 1000;
/** Refetch interval of an ended task, which another user may retry. */
const IDLE_PAUSE = 10_000;

export interface TaskPanelProps {
  id: string | undefined;
  onClose: () => void;
  onMove: (by: number) => void;
}

export function TaskPanel({ id, onClose, onMove }: TaskPanelProps) {
  const t = useTexts(TEXTS);
  const task = useQuery({
    queryKey: ['tasks', 'one', id],
    queryFn: () => ask(api.GET('/api/tasks/{id}', { params: { path: { id: id ?? '' } } })),
    enabled: id !== undefined,
    staleTime: 0,
    refetchInterval: ({ state: { data } }) => (data !== undefined && isEnded(data) ? IDLE_PAUSE : BUSY_PAUSE),
  });
  return (
    <Dialog side title={task.data?.toolName ?? t.task} isOpen={id !== undefined} onClose={onClose}>
      {task.isPending && <Loading />}
      {task.error !== null && <LoadFailed error={task.error} again={() => void task.refetch()} />}
      {task.data !== undefined && <Content key={task.data.id} task={task.data} onMove={onMove} />}
    </Dialog>
  );
}

function Content({ task, onMove }: { task: Task; onMove: (by: number) => void }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const now = useNow(isEnded(task) ? undefined : BUSY_PAUSE);
  const statusText = useTaskStatusText()(task, format, now);
  const duration = durationOf(task, now);
  const { fraction } = progressOf(task);
  const failure = failureOf(task);
  return (
    <>
      <div className={css.summary}>
        <span role="status" className={css.now}><TaskMark status={task.status} /></span>
        {duration !== undefined && <strong>{format.duration(duration)}</strong>}
        {task.deadLetter && <Badge tone="bad">{t.dead}</Badge>}
        <time dateTime={task.createdAt} className="quiet">{format.time(task.createdAt)}</time>
        <span className={css.moves}>
          <IconButton label={t.newer} onPress={() => onMove(-1)}><ChevronUp aria-hidden /></IconButton>
          <IconButton label={t.older} onPress={() => onMove(1)}><ChevronDown aria-hidden /></IconButton>
        </span>
      </div>
      {!isEnded(task) && fraction !== undefined && <Progress fraction={fraction} />}
      {!isEnded(task) && statusText !== undefined && <p className={css.statusText}>{statusText}</p>}
      {task.status === 'unknown' && <WarningNote>{failure !== undefined && <p>{failure.message}</p>}<p>{t.unknown}</p></WarningNote>}
      {task.status === 'cancelled' && failure !== undefined && <p className={css.statusText}>{failure.message}</p>}
      {task.status === 'failed' && failure !== undefined && <Failure error={failure} />}
      <TaskActions task={task} />
      <section className={css.part}>
        <h3>{t.args}</h3>
        <Value value={task.arguments} label={t.args} />
      </section>
      {task.result?.success === true && (
        <section className={css.part}>
          <h3>{t.result}</h3>
          <Value value={task.result.data} label={t.result} />
        </section>
      )}
      <section className={css.part}>
        <h3>{t.facts}</h3>
        <TaskFacts task={task} />
      </section>
    </>
  );
}

function Failure({ error }: { error: NonNullable<ReturnType<typeof failureOf>> }) {
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
