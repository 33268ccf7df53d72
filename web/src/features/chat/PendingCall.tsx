// A call that runs in the background: its progress, and its wait.
import type { Task } from '@/api/task';
import { progressOf } from '@/api/task';
import { Progress } from '@/components/Progress';
import { useTaskStatusText } from '@/components/taskStatusText';
import { useNow } from '@/components/useNow';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import css from './CallCard.module.css';
import type { Call } from './wire';

const TEXTS = texts(
  { async: 'Runs in the background. Its result appears here automatically.', later: 'Waiting for the result, which the API sends later.' },
  { async: '正在后台运行，结果会自动出现在这里。', later: '正在等待稍后返回的结果。' },
);

const TICK = 1000;

export function PendingCall({ call, task }: { call: Call; task: Task | undefined }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const now = useNow(TICK);
  const describe = useTaskStatusText();
  const statusText = task === undefined ? undefined : describe(task, format, now);
  const fraction = task === undefined ? undefined : progressOf(task).fraction;
  return (
    <div className={css.pending}>
      {fraction !== undefined && <Progress fraction={fraction} />}
      <p>{statusText ?? t[call.reason === 'later' ? 'later' : 'async']}</p>
    </div>
  );
}
