// The conversation view: turns, scrolled to their end while they grow, and the message field below.
import { ArrowDown } from 'lucide-react';
import { useCallback, useMemo, useRef } from 'react';

import { errorText } from '@/api/client';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { ErrorNote, Hint } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { TurnActionsContext } from './turnActions';
import { Composer } from './Composer';
import { againOf, contentOf } from './content';
import { HAS_KEYBOARD } from './hasKeyboard';
import css from './ConversationView.module.css';
import { TurnView } from './TurnView';
import { useTurnActions } from './useTurnActions';
import { useStickToEnd } from './useStickToEnd';
import type { Conversation, Message } from './wire';

const TEXTS = texts(
  {
    latest: 'Jump to latest', answering: 'Answering', answered: 'The answer is complete', lost: 'Connection lost. Reconnecting…', viewer: 'Chatting with agents needs the role caller.',
    talk: 'Conversation',
  },
  {
    latest: '跳到最新', answering: '正在回答', answered: '回答完成', lost: '连接已断开，正在重试…', viewer: '与智能体对话需要调用者权限。',
    talk: '对话内容',
  },
);

export function ConversationView({ talk, isConnected }: { talk: Conversation; isConnected: boolean }) {
  const t = useTexts(TEXTS);
  const { id, turns } = talk;
  const mayCall = useMay('caller');
  const isTurnRunning = turns.at(-1)?.finishReason === null;
  const { scroller, content, isAway, toEnd, onScroll } = useStickToEnd(turns);
  const { send, replace, stop, continueTurn, isContinuing, error } = useTurnActions(id, isTurnRunning);
  const field = useRef<HTMLTextAreaElement>(null);
  /** Scrolls to the end and moves the focus there, since the pressed button was removed. */
  const focusEnd = useCallback(() => {
    toEnd();
    (HAS_KEYBOARD ? field.current : scroller.current)?.focus({ preventScroll: true });
  }, [toEnd, scroller]);
  // Undefined while the turn grows: its users would otherwise be rendered with each piece of text.
  const finishedTurns = isTurnRunning ? undefined : turns;
  const again = useMemo(() => (finishedTurns === undefined ? undefined : againOf(finishedTurns)), [finishedTurns]);
  const acts = useMemo(() => ({
    mayAct: mayCall && !isTurnRunning,
    isContinuing,
    again,
    resend: (turn: number, messages: readonly Message[]) => {
      focusEnd();
      void send({ messages, replaces: turn });
    },
    replace: async (turn: number, messages: readonly Message[]) => {
      await replace(turn, messages);
      focusEnd();
    },
    continueTurn: () => {
      focusEnd();
      continueTurn();
    },
  }), [mayCall, isTurnRunning, isContinuing, again, send, replace, continueTurn, focusEnd]);
  return (
    <TurnActionsContext value={acts}>
      {/* Focusable, so that it can be scrolled by keyboard. */}
      <div ref={scroller} onScroll={onScroll} className={css.scroller} tabIndex={0} role="region" aria-label={t.talk}>
        <div ref={content} className={css.column}>
          {turns.map((turn, at) => <TurnView key={turn.turn} turn={turn} isLast={at === turns.length - 1} />)}
        </div>
      </div>
      <div className={css.bottom}>
        <div role="status" className="hidden">{isTurnRunning ? t.answering : turns.length > 0 && t.answered}</div>
        {isAway && (
          <div className={css.latest}><Button small icon={<ArrowDown aria-hidden />} onPress={() => toEnd('smooth')}>{t.latest}</Button></div>
        )}
        {!isConnected && <div role="status" className={css.lost}>{t.lost}</div>}
        {error !== null && <ErrorNote>{errorText(error)}</ErrorNote>}
        {mayCall ? (
          <Composer
            ref={field} draftId={id} isTurnRunning={isTurnRunning || isContinuing} {...(isTurnRunning ? { onStop: stop } : {})}
            onSend={(draft) => {
              toEnd();
              return send({ messages: [{ role: 'user', content: contentOf(draft) }] });
            }}
          />
        ) : <Hint>{t.viewer}</Hint>}
      </div>
    </TurnActionsContext>
  );
}

