// How a turn ended, where it did not end with an answer, and what can be done about it.
import { CircleStop, RotateCw, StepForward } from 'lucide-react';
import { use } from 'react';

import { Button } from '@/components/Button';
import { ErrorNote } from '@/components/Note';
import { useKinds } from '@/i18n/kinds';
import { useWords, words } from '@/i18n/language';

import { ActsContext } from './acts';
import css from './Talk.module.css';
import type { Turn } from './wire';

const WORDS = words(
  {
    again: 'Try again', goOn: 'Continue', cancelled: 'Stopped.', max_steps: 'It reached the most steps this agent may take.', tool_stop: 'A tool ended the turn.', tool_calls: 'The program that asked has calls to make.',
    error: 'Something went wrong.',
  },
  {
    again: '重试', goOn: '继续', cancelled: '已停止。', max_steps: '已达到此智能体的最大步数。', tool_stop: '工具结束了本轮对话。', tool_calls: '等待发起方自行完成调用。',
    error: '出错了。',
  },
);

export function TurnEnd({ turn: { finishReason, error }, isLast }: { turn: Turn; isLast: boolean }) {
  const t = useWords(WORDS);
  const kinds: Readonly<Record<string, string>> = useKinds();
  const acts = use(ActsContext);
  const mayGoOn = isLast && acts.mayAct;
  if (error !== undefined || finishReason === 'error') {
    return (
      <ErrorNote>
        <div className={css.failure}>
          <span>{error !== undefined && <strong>{kinds[error.kind] ?? error.kind}: </strong>}{error?.message ?? t.error}</span>
          {mayGoOn && <Button small icon={<RotateCw aria-hidden />} isPending={acts.isGoing} onPress={acts.goOn}>{t.again}</Button>}
        </div>
      </ErrorNote>
    );
  }
  if (finishReason === null || finishReason === 'stop') return null;
  return (
    <p className={css.ended}>
      <CircleStop size={15} aria-hidden />{t[finishReason]}
      {mayGoOn && finishReason !== 'tool_stop' && <Button small look="quiet" icon={<StepForward aria-hidden />} isPending={acts.isGoing} onPress={acts.goOn}>{t.goOn}</Button>}
    </p>
  );
}
