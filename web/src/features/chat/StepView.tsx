// One response of the model: reasoning, text and tool calls.
import { memo } from 'react';

import { Fold } from '@/components/Fold';
import { Markdown } from '@/components/markdown/Markdown';
import { texts, useTexts } from '@/i18n/language';

import { CallCard } from './CallCard';
import css from './ConversationView.module.css';
import type { Call, Step } from './wire';

const TEXTS = texts(
  {
    thought: 'Reasoning', thinking: 'Thinking…', calls: 'Tool calls', together: (count: number) => `${count} parallel calls`,
    done: (done: number, all: number) => `${done} of ${all} done`,
  },
  {
    thought: '思考过程', thinking: '正在思考…', calls: '工具调用', together: (count: number) => `同时调用 ${count} 次`,
    done: (done: number, all: number) => `已完成 ${done}/${all}`,
  },
);

export const StepView = memo(function StepView({ step, isTurnRunning }: { step: Step; isTurnRunning: boolean }) {
  const t = useTexts(TEXTS);
  const { text, reasoning, calls } = step;
  const isThinking = isTurnRunning && text === '' && calls.length === 0;
  return (
    <div className={css.step}>
      {reasoning !== undefined && reasoning !== '' && (
        <div className={css.thought}><Fold level={2} title={isThinking ? t.thinking : t.thought}><p className={css.reasoning}>{reasoning}</p></Fold></div>
      )}
      {text !== '' && <Markdown text={text} />}
      {calls.length > 0 && <Calls calls={calls} />}
    </div>
  );
});

function Calls({ calls }: { calls: readonly Call[] }) {
  const t = useTexts(TEXTS);
  const done = calls.filter(({ status }) => status === 'done').length;
  return (
    <div role="group" className={css.calls} aria-label={t.calls}>
      {calls.length > 1 && (
        <p className={css.together}><span>{t.together(calls.length)}</span>{done < calls.length && <span>{t.done(done, calls.length)}</span>}</p>
      )}
      {calls.map((call) => <CallCard key={call.callId} call={call} />)}
    </div>
  );
}
