// Says something in a conversation, stops what goes on, and goes on with what stopped.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect } from 'react';

import { goOn, say, stop } from './requests';
import { isTaken, lastOf, showSent, showTaken, takeBack, turnsOf, untilTold } from './useTalk';
import type { Message, SaidInput, Turn } from './wire';

export interface Spoken {
  messages: readonly Message[];
  replaces?: number;
}

const inputOf = (messages: readonly Message[]): SaidInput[] => messages.map((message) => ({ ...message, at: new Date().toISOString() }));

export function useSpeaking(id: string, isUnderWay: boolean) {
  const queries = useQueryClient();
  const speaking = useMutation({
    mutationFn: (spoken: Spoken) => say({ ...spoken, conversationId: id }),
    onMutate: ({ messages, replaces }): { before: readonly Turn[] } => {
      const before = turnsOf(queries, id);
      showSent(queries, id, inputOf(messages), replaces);
      return { before };
    },
    onSuccess: ({ messageId }) => isTaken(queries, id, messageId),
    onError: (_error, { replaces }, context) => {
      if (context !== undefined) takeBack(queries, id, context.before, replaces);
    },
  });
  const stopping = useMutation({ mutationFn: () => stop(id) });
  const going = useMutation({
    // Over when it is told of, so that nobody asks for it twice.
    mutationFn: async () => {
      const last = lastOf(turnsOf(queries, id));
      await goOn(id);
      await untilTold(queries, id, last);
    },
  });
  const { mutateAsync, reset: forgetSpeaking } = speaking;
  const { mutate: stopNow, reset: forgetStopping } = stopping;
  const { mutate: goOnNow, reset: forgetGoing } = going;
  // What went wrong with stopping is over with the turn, and with going on once one is under way.
  useEffect(() => (isUnderWay ? forgetGoing : forgetStopping)(), [isUnderWay, forgetGoing, forgetStopping]);
  const forget = useCallback(() => {
    forgetSpeaking();
    forgetStopping();
    forgetGoing();
  }, [forgetSpeaking, forgetStopping, forgetGoing]);
  /** Whether it was taken. */
  const speak = useCallback((spoken: Spoken) => {
    forget();
    return mutateAsync(spoken).then(() => true, () => false);
  }, [forget, mutateAsync]);
  /** In place of a turn, which stays until it was taken: what was written must not be lost. */
  const correct = useCallback(async (replaces: number, messages: readonly Message[]) => {
    forget();
    const { messageId } = await say({ messages, replaces, conversationId: id });
    showTaken(queries, id, inputOf(messages), messageId, replaces);
  }, [forget, queries, id]);
  return {
    speak,
    correct,
    stop: useCallback(() => {
      forget();
      stopNow();
    }, [forget, stopNow]),
    goOn: useCallback(() => {
      forget();
      goOnNow();
    }, [forget, goOnNow]),
    isGoing: going.isPending,
    error: speaking.error ?? stopping.error ?? going.error,
  };
}
