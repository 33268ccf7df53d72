// The talk itself: turns, kept at their end while they grow, and the place to say more below.
import { ArrowDown } from 'lucide-react';
import { useCallback, useMemo, useRef } from 'react';

import { wordsOf } from '@/api/client';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { ErrorNote, Hint } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import { ActsContext } from './acts';
import { Composer } from './Composer';
import { againOf, contentOf } from './content';
import { HAS_KEYS } from './hasKeys';
import css from './Talk.module.css';
import { TurnView } from './TurnView';
import { useSpeaking } from './useSpeaking';
import { useStick } from './useStick';
import type { Conversation, Message } from './wire';

const WORDS = words(
  {
    latest: 'Jump to latest', answering: 'Answering', answered: 'The answer is here', lost: 'Connection lost. Trying again…', viewer: 'Talking to agents needs the role caller.',
    talk: 'Conversation',
  },
  {
    latest: '跳到最新', answering: '正在回答', answered: '回答完成', lost: '连接已断开，正在重试…', viewer: '与智能体对话需要调用者权限。',
    talk: '对话内容',
  },
);

export function Talk({ talk, isHeard }: { talk: Conversation; isHeard: boolean }) {
  const t = useWords(WORDS);
  const { id, turns } = talk;
  const mayCall = useMay('caller');
  const isUnderWay = turns.at(-1)?.finishReason === null;
  const { scroller, content, isAway, toEnd, onScroll } = useStick(turns);
  const { speak, correct, stop, goOn, isGoing, error } = useSpeaking(id, isUnderWay);
  const field = useRef<HTMLTextAreaElement>(null);
  /** What was pressed is gone, and the keys are not to be nowhere. */
  const comeAlong = useCallback(() => {
    toEnd();
    (HAS_KEYS ? field.current : scroller.current)?.focus({ preventScroll: true });
  }, [toEnd, scroller]);
  // Not while it grows: all that looks at it would be drawn with each word.
  const settled = isUnderWay ? undefined : turns;
  const again = useMemo(() => (settled === undefined ? undefined : againOf(settled)), [settled]);
  const acts = useMemo(() => ({
    mayAct: mayCall && !isUnderWay,
    isGoing,
    again,
    say: (turn: number, messages: readonly Message[]) => {
      comeAlong();
      void speak({ messages, replaces: turn });
    },
    correct: async (turn: number, messages: readonly Message[]) => {
      await correct(turn, messages);
      comeAlong();
    },
    goOn: () => {
      comeAlong();
      goOn();
    },
  }), [mayCall, isUnderWay, isGoing, again, speak, correct, goOn, comeAlong]);
  return (
    <ActsContext value={acts}>
      {/* What scrolls is scrolled by keys too. */}
      <div ref={scroller} onScroll={onScroll} className={css.scroller} tabIndex={0} role="region" aria-label={t.talk}>
        <div ref={content} className={css.column}>
          {turns.map((turn, at) => <TurnView key={turn.turn} turn={turn} isLast={at === turns.length - 1} />)}
        </div>
      </div>
      <div className={css.bottom}>
        <div role="status" className="hidden">{isUnderWay ? t.answering : turns.length > 0 && t.answered}</div>
        {isAway && (
          <div className={css.latest}><Button small icon={<ArrowDown aria-hidden />} onPress={() => toEnd('smooth')}>{t.latest}</Button></div>
        )}
        {!isHeard && <div role="status" className={css.lost}>{t.lost}</div>}
        {error !== null && <ErrorNote>{wordsOf(error)}</ErrorNote>}
        {mayCall ? (
          <Composer
            ref={field} draftId={id} isUnderWay={isUnderWay || isGoing} {...(isUnderWay ? { onStop: stop } : {})}
            onSay={(said) => {
              toEnd();
              return speak({ messages: [{ role: 'user', content: contentOf(said) }] });
            }}
          />
        ) : <Hint>{t.viewer}</Hint>}
      </div>
    </ActsContext>
  );
}

