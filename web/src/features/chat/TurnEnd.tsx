// The reason why a turn ended without a response, with the available actions.
import { CircleStop, RotateCw, StepForward } from 'lucide-react';
import { use } from 'react';

import { Button } from '@/components/Button';
import { ErrorNote } from '@/components/Note';
import { useKinds } from '@/i18n/kinds';
import { texts, useTexts } from '@/i18n/language';

import { TurnActionsContext } from './turnActions';
import css from './ConversationView.module.css';
import type { Turn } from './wire';

const TEXTS = texts(
  {
    again: 'Try again', goOn: 'Continue', cancelled: 'Stopped.', max_steps: 'The agent reached its maximum number of steps.', tool_stop: 'A tool ended the turn.', tool_calls: 'The client has to execute tool calls.',
    error: 'Something went wrong.',
  },
  {
    again: '重试', goOn: '继续', cancelled: '已停止。', max_steps: '已达到此智能体的最大步数。', tool_stop: '工具结束了本轮对话。', tool_calls: '等待发起方自行完成调用。',
    error: '出错了。',
  },
);

export function TurnEnd({ turn: { finishReason, error }, isLast }: { turn: Turn; isLast: boolean }) {
  const t = useTexts(TEXTS);
  const kinds: Readonly<Record<string, string>> = useKinds();
  const acts = use(TurnActionsContext);
  const mayContinue = isLast && acts.mayAct;
  if (error !== undefined || finishReason === 'error') {
    return (
      <ErrorNote>
        <div className={css.failure}>
          <span>{error !== undefined && <strong>{kinds[error.kind] ?? error.kind}: </strong>}{error?.message ?? t.error}</span>
          {mayContinue && <Button small icon={<RotateCw aria-hidden />} isPending={acts.isContinuing} onPress={acts.continueTurn}>{t.again}</Button>}
        </div>
      </ErrorNote>
    );
  }
  if (finishReason === null || finishReason === 'stop') return null;
  return (
    <p className={css.ended}>
      <CircleStop size={15} aria-hidden />{t[finishReason]}
      {mayContinue && finishReason !== 'tool_stop' && <Button small look="quiet" icon={<StepForward aria-hidden />} isPending={acts.isContinuing} onPress={acts.continueTurn}>{t.goOn}</Button>}
    </p>
  );
}
