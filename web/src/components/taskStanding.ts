// What a task waits for and when it goes on, what it says it does, or what went wrong: one line.
import { failureOf, howFar, isEnded, type Task } from '@/api/task';
import type { Format } from '@/i18n/format';
import { useWords, words } from '@/i18n/language';


const WORDS = words(
  {
    approval: (until: string | undefined) => (until === undefined ? 'Waits for a person' : `Waits for a person, until ${until}`),
    retry: (when: string | undefined) => (when === undefined ? 'Waits to be tried again' : `Is tried again ${when}`),
    poll: (said: string | undefined, when: string) => (said === undefined ? `Waits for the API to be done, asks ${when}` : `The API says “${said}”, is asked ${when}`),
    callback: (until: string | undefined) => (until === undefined ? 'Waits for the API to call back' : `Waits for the API to call back, until ${until}`),
    other: (what: string, when: string | undefined) => (when === undefined ? `Waits for ${what}` : `Waits for ${what}, goes on ${when}`),
    begins: (when: string) => `Begins ${when}`, ending: 'Is being cancelled',
  },
  {
    approval: (until: string | undefined) => (until === undefined ? '等待审批' : `等待审批，${until}到期`),
    retry: (when: string | undefined) => (when === undefined ? '等待重试' : `${when}重试`),
    poll: (said: string | undefined, when: string) => (said === undefined ? `等待接口完成任务，${when}查询` : `接口返回“${said}”，${when}查询`),
    callback: (until: string | undefined) => (until === undefined ? '等待接口回调' : `等待接口回调，${until}到期`),
    other: (what: string, when: string | undefined) => (when === undefined ? `等待 ${what}` : `等待 ${what}，${when}继续`),
    begins: (when: string) => `${when}开始`, ending: '正在取消',
  },
);

/** `now` is for how far off a moment is. */
export function useStanding(): (task: Task, format: Format, now: number) => string | undefined {
  const t = useWords(WORDS);
  return (task, format, now) => {
    if (isEnded(task)) return failureOf(task)?.message;
    if (task.cancelAsked) return t.ending;
    const { dueAt, waitingFor } = task;
    const when = dueAt === null ? undefined : format.ago(dueAt, now);
    if (task.status === 'running') return howFar(task).message;
    if (task.status === 'queued') return when === undefined ? undefined : t.begins(when);
    const until = dueAt === null ? undefined : format.time(dueAt);
    if (waitingFor === 'approval' || waitingFor === 'callback') return t[waitingFor](until);
    if (waitingFor === 'poll' && when !== undefined) return t.poll(howFar(task).message, when);
    return waitingFor === 'retry' || waitingFor === null ? t.retry(when) : t.other(waitingFor, when);
  };
}
