// One answer of the model: what it thought, what it said, and the tools it called.
import { memo } from 'react';

import { Fold } from '@/components/Fold';
import { Markdown } from '@/components/markdown/Markdown';
import { useWords, words } from '@/i18n/language';

import { CallCard } from './CallCard';
import css from './Talk.module.css';
import type { Call, Step } from './wire';

const WORDS = words(
  {
    thought: 'Thought about it', thinking: 'Thinking…', calls: 'Tool calls', together: (count: number) => `${count} calls at once`,
    done: (done: number, all: number) => `${done} of ${all} done`,
  },
  {
    thought: '思考过程', thinking: '正在思考…', calls: '工具调用', together: (count: number) => `同时调用 ${count} 次`,
    done: (done: number, all: number) => `已完成 ${done}/${all}`,
  },
);

export const StepView = memo(function StepView({ step, isUnderWay }: { step: Step; isUnderWay: boolean }) {
  const t = useWords(WORDS);
  const { text, reasoning, calls } = step;
  const isThinking = isUnderWay && text === '' && calls.length === 0;
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
  const t = useWords(WORDS);
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
