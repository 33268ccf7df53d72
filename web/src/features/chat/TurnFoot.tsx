// The line below a response: copy, regenerate, and usage.
import { RotateCw } from 'lucide-react';
import { use } from 'react';

import { IconButton } from '@/components/Button';
import { CopyButton } from '@/components/CopyButton';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import { TurnActionsContext } from './turnActions';
import css from './ConversationView.module.css';
import type { Turn } from './wire';

const TEXTS = texts(
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
  const t = useTexts(TEXTS);
  const format = useFormat();
  const acts = use(TurnActionsContext);
  const { message, steps, usage, model } = turn;
  const stepText = steps.map(({ text }) => text).filter((text) => text !== '').join('\n\n');
  const answer = message === null || message.content === '' ? stepText : message.content;
  const { again } = acts;
  const duration = durationOf(turn);
  return (
    <footer className={`${css.foot} ${isLast ? css.footLast : ''}`}>
      {answer !== '' && <CopyButton iconOnly text={answer} label={t.copy} />}
      {isLast && acts.mayAct && again !== undefined && (
        <IconButton label={t.retry} isDisabled={acts.isContinuing} onPress={() => acts.resend(again.turn, again.messages)}><RotateCw aria-hidden /></IconButton>
      )}
      <span className={css.facts} role="group" aria-label={t.about}>
        {model !== undefined && model !== null && <span>{model}</span>}
        {duration !== undefined && <span>{format.duration(duration)}</span>}
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
