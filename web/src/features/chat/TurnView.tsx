// One turn: what it began with, the steps to its answer, and how it ended.
import { memo } from 'react';

import { Markdown } from '@/components/markdown/Markdown';
import { WarningNote } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import { untold } from './conversation';
import { SaidView } from './SaidView';
import { StepView } from './StepView';
import css from './Talk.module.css';
import { TaskEntry } from './TaskEntry';
import { TurnEnd } from './TurnEnd';
import { TurnFoot } from './TurnFoot';
import type { Turn } from './wire';

const WORDS = words({ thinking: 'Thinking…' }, { thinking: '正在思考…' });

export const TurnView = memo(function TurnView({ turn, isLast }: { turn: Turn; isLast: boolean }) {
  const t = useWords(WORDS);
  const { input, steps, warnings, finishReason } = turn;
  const rest = untold(turn);
  return (
    <article className={css.turn}>
      {input.map((one, at) => (one.role === 'task'
        ? <TaskEntry key={one.taskId} task={one} />
        : <SaidView key={at} said={one} turn={turn} isOnly={input.filter(({ role }) => role === 'user').length === 1} />))}
      {steps.map((step, at) => <StepView key={step.step} step={step} isUnderWay={finishReason === null && at === steps.length - 1} />)}
      {rest !== '' && <div className={css.step}><Markdown text={rest} /></div>}
      {isThinking(turn) && <p className={css.thinking}><span className={css.dots} aria-hidden><i /><i /><i /></span><span className="hidden">{t.thinking}</span></p>}
      {[...new Set(warnings)].map((warning) => <WarningNote key={warning}>{warning}</WarningNote>)}
      <TurnEnd turn={turn} isLast={isLast} />
      {finishReason !== null && <TurnFoot turn={turn} isLast={isLast} />}
    </article>
  );
});

/** The model is asked, and nothing of its answer has come. */
function isThinking({ finishReason, steps }: Turn): boolean {
  const last = steps.at(-1);
  if (finishReason !== null) return false;
  if (last === undefined) return true;
  if (last.calls.length === 0) return last.text === '' && (last.reasoning ?? '') === '';
  return last.calls.every(({ status, reason }) => status === 'done' || (status === 'pending' && reason === 'async'));
}
