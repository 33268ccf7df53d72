// Under an answer, quietly: take it along, ask once more, and what it cost.
import { RotateCw } from 'lucide-react';
import { use } from 'react';

import { IconButton } from '@/components/Button';
import { CopyButton } from '@/components/CopyButton';
import { useFormat } from '@/i18n/format';
import { useWords, words } from '@/i18n/language';

import { ActsContext } from './acts';
import css from './Talk.module.css';
import type { Turn } from './wire';

const WORDS = words(
  {
    copy: 'Copy answer', retry: 'Answer again', tokens: (input: string, output: string) => `${input} tokens in, ${output} out`,
    cached: (count: string) => `${count} from cache`, about: 'About this answer',
  },
  {
    copy: '复制回答', retry: '重新回答', tokens: (input: string, output: string) => `输入 ${input}，输出 ${output} token`,
    cached: (count: string) => `缓存 ${count}`, about: '关于此回答',
  },
);

export function TurnFoot({ turn, isLast }: { turn: Turn; isLast: boolean }) {
  const t = useWords(WORDS);
  const format = useFormat();
  const acts = use(ActsContext);
  const { message, steps, usage, model } = turn;
  const said = steps.map(({ text }) => text).filter((text) => text !== '').join('\n\n');
  const answer = message === null || message.content === '' ? said : message.content;
  const { again } = acts;
  const took = durationOf(turn);
  return (
    <footer className={`${css.foot} ${isLast ? css.footLast : ''}`}>
      {answer !== '' && <CopyButton iconOnly text={answer} label={t.copy} />}
      {isLast && acts.mayAct && again !== undefined && (
        <IconButton label={t.retry} isDisabled={acts.isGoing} onPress={() => acts.say(again.turn, again.messages)}><RotateCw aria-hidden /></IconButton>
      )}
      <span className={css.facts} role="group" aria-label={t.about}>
        {model !== undefined && model !== null && <span>{model}</span>}
        {took !== undefined && <span>{format.duration(took)}</span>}
        {usage !== undefined && <span>{t.tokens(format.count(usage.input), format.count(usage.output))}</span>}
        {usage?.cached !== undefined && usage.cached > 0 && <span>{t.cached(format.count(usage.cached))}</span>}
      </span>
    </footer>
  );
}

function durationOf({ startedAt, endedAt }: Turn): number | undefined {
  if (startedAt === undefined || endedAt === undefined) return undefined;
  return Math.max(0, new Date(endedAt).getTime() - new Date(startedAt).getTime());
}
