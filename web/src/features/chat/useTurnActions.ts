// Sends messages in a conversation, stops the running turn, and continues a stopped one.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect } from 'react';

import { continueTurn, sendMessages, stop } from './requests';
import { lastOf, markAccepted, revertRefused, showAccepted, showSent, turnsOf, untilNextTurn } from './useConversation';
import type { Message, MessageInput, Turn } from './wire';

export interface NewMessages {
  messages: readonly Message[];
  replaces?: number;
}

const inputOf = (messages: readonly Message[]): MessageInput[] => messages.map((message) => ({ ...message, at: new Date().toISOString() }));

export function useTurnActions(id: string, isTurnRunning: boolean) {
  const queries = useQueryClient();
  const sending = useMutation({
    mutationFn: (sent: NewMessages) => sendMessages({ ...sent, conversationId: id }),
    onMutate: ({ messages, replaces }): { before: readonly Turn[] } => {
      const before = turnsOf(queries, id);
      showSent(queries, id, inputOf(messages), replaces);
      return { before };
    },
    onSuccess: ({ messageId }) => markAccepted(queries, id, messageId),
    onError: (_error, { replaces }, context) => {
      if (context !== undefined) revertRefused(queries, id, context.before, replaces);
    },
  });
  const stopping = useMutation({ mutationFn: () => stop(id) });
  const continuing = useMutation({
    // Pending until the turn has visibly started, so that it cannot be requested twice.
    mutationFn: async () => {
      const last = lastOf(turnsOf(queries, id));
      await continueTurn(id);
      await untilNextTurn(queries, id, last);
    },
  });
  const { mutateAsync, reset: forgetSending } = sending;
  const { mutate: stopNow, reset: forgetStopping } = stopping;
  const { mutate: continueNow, reset: forgetContinuing } = continuing;
  // An error of stopping is cleared when the turn ends, and one of continuing when a turn starts.
  useEffect(() => (isTurnRunning ? forgetContinuing : forgetStopping)(), [isTurnRunning, forgetContinuing, forgetStopping]);
  const forget = useCallback(() => {
    forgetSending();
    forgetStopping();
    forgetContinuing();
  }, [forgetSending, forgetStopping, forgetContinuing]);
  /** Sends messages. Resolves to false if the server refused them. */
  const send = useCallback((sent: NewMessages) => {
    forget();
    return mutateAsync(sent).then(() => true, () => false);
  }, [forget, mutateAsync]);
  /**
   * Replaces a turn. The old turn stays until the server has accepted the message, so that the edited text is
   * not lost.
   */
  const replace = useCallback(async (replaces: number, messages: readonly Message[]) => {
    forget();
    const { messageId } = await sendMessages({ messages, replaces, conversationId: id });
    showAccepted(queries, id, inputOf(messages), messageId, replaces);
  }, [forget, queries, id]);
  return {
    send,
    replace,
    stop: useCallback(() => {
      forget();
      stopNow();
    }, [forget, stopNow]),
    continueTurn: useCallback(() => {
      forget();
      continueNow();
    }, [forget, continueNow]),
    isContinuing: continuing.isPending,
    error: sending.error ?? stopping.error ?? continuing.error,
  };
}
