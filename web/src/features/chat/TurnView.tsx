// One turn: its input, the steps, and how it ended.
import { memo } from 'react';

import { Markdown } from '@/components/markdown/Markdown';
import { WarningNote } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { finalText } from './conversation';
import { MessageView } from './MessageView';
import { StepView } from './StepView';
import css from './ConversationView.module.css';
import { TaskEntry } from './TaskEntry';
import { TurnEnd } from './TurnEnd';
import { TurnFoot } from './TurnFoot';
import type { Turn } from './wire';

const TEXTS = texts({ thinking: 'Thinking…' }, { thinking: '正在思考…' });

export const TurnView = memo(function TurnView({ turn, isLast }: { turn: Turn; isLast: boolean }) {
  const t = useTexts(TEXTS);
  const { input, steps, warnings, finishReason } = turn;
  const rest = finalText(turn);
  return (
    <article className={css.turn}>
      {input.map((one, at) => (one.role === 'task'
        ? <TaskEntry key={one.taskId} task={one} />
        : <MessageView key={at} input={one} turn={turn} isOnly={input.filter(({ role }) => role === 'user').length === 1} />))}
      {steps.map((step, at) => <StepView key={step.step} step={step} isTurnRunning={finishReason === null && at === steps.length - 1} />)}
      {rest !== '' && <div className={css.step}><Markdown text={rest} /></div>}
      {isThinking(turn) && <p className={css.thinking}><span className={css.dots} aria-hidden><i /><i /><i /></span><span className="hidden">{t.thinking}</span></p>}
      {[...new Set(warnings)].map((warning) => <WarningNote key={warning}>{warning}</WarningNote>)}
      <TurnEnd turn={turn} isLast={isLast} />
      {finishReason !== null && <TurnFoot turn={turn} isLast={isLast} />}
    </article>
  );
});

/** Returns true while the model was called and has sent nothing yet. */
function isThinking({ finishReason, steps }: Turn): boolean {
  const last = steps.at(-1);
  if (finishReason !== null) return false;
  if (last === undefined) return true;
  if (last.calls.length === 0) return last.text === '' && (last.reasoning ?? '') === '';
  return last.calls.every(({ status, reason }) => status === 'done' || (status === 'pending' && reason === 'async'));
}
