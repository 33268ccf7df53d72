// One line about a task: its wait and when it resumes, its progress message, or its error.
import { failureOf, isEnded, progressOf, type Task } from '@/api/task';
import type { Format } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';


const TEXTS = texts(
  {
    approval: (until: string | undefined) => (until === undefined ? 'Waiting for approval' : `Waiting for approval, expires ${until}`),
    retry: (when: string | undefined) => (when === undefined ? 'Waiting for a retry' : `Retries ${when}`),
    poll: (message: string | undefined, when: string) => (message === undefined ? `Waiting for the API, next check ${when}` : `The API says “${message}”, next check ${when}`),
    callback: (until: string | undefined) => (until === undefined ? 'Waiting for a callback' : `Waiting for a callback, expires ${until}`),
    other: (what: string, when: string | undefined) => (when === undefined ? `Waiting for ${what}` : `Waiting for ${what}, resumes ${when}`),
    begins: (when: string) => `Starts ${when}`, ending: 'Being cancelled',
  },
  {
    approval: (until: string | undefined) => (until === undefined ? '等待审批' : `等待审批，${until}到期`),
    retry: (when: string | undefined) => (when === undefined ? '等待重试' : `${when}重试`),
    poll: (message: string | undefined, when: string) => (message === undefined ? `等待接口完成任务，${when}查询` : `接口返回“${message}”，${when}查询`),
    callback: (until: string | undefined) => (until === undefined ? '等待接口回调' : `等待接口回调，${until}到期`),
    other: (what: string, when: string | undefined) => (when === undefined ? `等待 ${what}` : `等待 ${what}，${when}继续`),
    begins: (when: string) => `${when}开始`, ending: '正在取消',
  },
);

/** Returns a function that describes a task; `now` is the reference for relative times. */
export function useTaskStatusText(): (task: Task, format: Format, now: number) => string | undefined {
  const t = useTexts(TEXTS);
  return (task, format, now) => {
    if (isEnded(task)) return failureOf(task)?.message;
    if (task.cancelAsked) return t.ending;
    const { dueAt, waitingFor } = task;
    const when = dueAt === null ? undefined : format.ago(dueAt, now);
    if (task.status === 'running') return progressOf(task).message;
    if (task.status === 'queued') return when === undefined ? undefined : t.begins(when);
    const until = dueAt === null ? undefined : format.time(dueAt);
    if (waitingFor === 'approval' || waitingFor === 'callback') return t[waitingFor](until);
    if (waitingFor === 'poll' && when !== undefined) return t.poll(progressOf(task).message, when);
    return waitingFor === 'retry' || waitingFor === null ? t.retry(when) : t.other(waitingFor, when);
  };
}
