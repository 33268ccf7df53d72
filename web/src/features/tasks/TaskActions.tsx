// Actions for a task: cancel, retry, record its outcome, or decide its approval.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleCheck, RotateCw, Square } from 'lucide-react';
import { useState } from 'react';

import { api, ask, errorText } from '@/api/client';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { Confirm } from '@/components/Dialog';
import { ErrorNote } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { ResolveDialog } from './ResolveDialog';
import css from './TaskPanel.module.css';
import { mayCancel, mayRetry, type Task } from './tasks';

const TEXTS = texts(
  {
    cancel: 'Cancel task', cancelTitle: 'Cancel this task?', keep: 'Keep it', retry: 'Try again', retryTitle: 'Try it again?', no: 'Not now',
    cancelWaiting: 'It is cancelled at once. You can try it again later.',
    cancelRunning: 'It stops as soon as possible. A request that was already sent is not undone: whether a write took effect is then unknown.',
    retryText: 'It was sent once and may have taken effect. Trying again may repeat the effect.', resolve: 'Resolve', approvals: 'Show the approvals',
  },
  {
    cancel: '取消任务', cancelTitle: '取消此任务？', keep: '保留', retry: '重试', retryTitle: '重试此任务？', no: '暂不',
    cancelWaiting: '任务会立即结束，之后可以重试。',
    cancelRunning: '任务会尽快结束。已发出的请求无法撤回：写入是否生效将无法得知。',
    retryText: '请求曾经发出，可能已经生效。重试可能会使其生效两次。', resolve: '确认结果', approvals: '前往审批',
  },
);

type Doing = 'cancel' | 'retry' | 'resolve';

export function TaskActions({ task }: { task: Task }) {
  const t = useTexts(TEXTS);
  const mayCall = useMay('caller');
  const mayEdit = useMay('editor');
  const queries = useQueryClient();
  const [doing, setDoing] = useState<Doing>();
  const params = { path: { id: task.id } };
  const renew = (now: Task) => {
    queries.setQueryData(['tasks', 'one', task.id], now);
    void queries.invalidateQueries({ queryKey: ['tasks', 'list'] });
    void queries.invalidateQueries({ queryKey: ['approvals'] });
  };
  const cancel = useMutation({ mutationFn: () => ask(api.POST('/api/tasks/{id}/cancel', { params })), onSuccess: renew });
  const retry = useMutation({ mutationFn: () => ask(api.POST('/api/tasks/{id}/retry', { params })), onSuccess: renew });
  const close = () => setDoing(undefined);
  // A retry that may repeat a write needs a confirmation.
  const again = () => (task.status === 'unknown' ? setDoing('retry') : retry.mutate());
  const isUnknown = task.status === 'unknown';
  return (
    <>
      <div className={css.actions}>
        {isUnknown && mayEdit && <Button look="primary" icon={<CircleCheck aria-hidden />} onPress={() => setDoing('resolve')}>{t.resolve}</Button>}
        {mayCall && mayRetry(task) && <Button icon={<RotateCw aria-hidden />} isPending={retry.isPending} onPress={again}>{t.retry}</Button>}
        {mayCall && mayCancel(task) && <Button icon={<Square aria-hidden />} onPress={() => setDoing('cancel')}>{t.cancel}</Button>}
        {task.waitingFor === 'approval' && task.status === 'waiting' && <Link to="/approvals">{t.approvals}</Link>}
      </div>
      {retry.error !== null && doing === undefined && <ErrorNote>{errorText(retry.error)}</ErrorNote>}
      <Confirm
        title={t.cancelTitle} verb={t.cancel} cancelLabel={t.keep} isOpen={doing === 'cancel'} onClose={close} onConfirm={() => cancel.mutateAsync()}
      >
        {task.status === 'running' ? t.cancelRunning : t.cancelWaiting}
      </Confirm>
      <Confirm title={t.retryTitle} verb={t.retry} cancelLabel={t.no} isOpen={doing === 'retry'} onClose={close} onConfirm={() => retry.mutateAsync()}>
        {t.retryText}
      </Confirm>
      <ResolveDialog task={task} isOpen={doing === 'resolve'} onClose={close} onResolved={renew} />
    </>
  );
}
