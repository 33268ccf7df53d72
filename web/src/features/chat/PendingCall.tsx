// A call that goes on in the background: how far it is, and what it waits for.
import type { Task } from '@/api/task';
import { howFar } from '@/api/task';
import { Progress } from '@/components/Progress';
import { useStanding } from '@/components/taskStanding';
import { useNow } from '@/components/useNow';
import { useFormat } from '@/i18n/format';
import { useWords, words } from '@/i18n/language';

import css from './CallCard.module.css';
import type { Call } from './wire';

const WORDS = words(
  { async: 'Goes on in the background. Its result comes here by itself.', later: 'Waits for the answer that comes later.' },
  { async: '正在后台运行，结果会自动出现在这里。', later: '正在等待稍后返回的结果。' },
);

const TICK = 1000;

export function PendingCall({ call, task }: { call: Call; task: Task | undefined }) {
  const t = useWords(WORDS);
  const format = useFormat();
  const now = useNow(TICK);
  const standing = useStanding();
  const said = task === undefined ? undefined : standing(task, format, now);
  const fraction = task === undefined ? undefined : howFar(task).fraction;
  return (
    <div className={css.pending}>
      {fraction !== undefined && <Progress fraction={fraction} />}
      <p>{said ?? t[call.reason === 'later' ? 'later' : 'async']}</p>
    </div>
  );
}
