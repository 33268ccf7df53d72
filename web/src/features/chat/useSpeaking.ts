// Says something in a conversation, stops what goes on, and goes on with what stopped.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';

import { talkKey } from './queries';
import { goOn, say, stop } from './requests';
import { isTaken, showSent, takeBack } from './useTalk';
import type { Conversation, Message, Turn } from './wire';

export interface Spoken {
  messages: readonly Message[];
  replaces?: number;
}

export function useSpeaking(id: string) {
  const queries = useQueryClient();
  const speaking = useMutation({
    mutationFn: (spoken: Spoken) => say({ ...spoken, conversationId: id }),
    onMutate: ({ messages, replaces }): { before: readonly Turn[] } => {
      const before = queries.getQueryData<Conversation>(talkKey(id))?.turns ?? [];
      showSent(queries, id, messages.map((message) => ({ ...message, at: new Date().toISOString() })), replaces);
      return { before };
    },
    onSuccess: ({ messageId }) => isTaken(queries, id, messageId),
    onError: (_error, _spoken, context) => {
      if (context !== undefined) takeBack(queries, id, context.before);
    },
  });
  const stopping = useMutation({ mutationFn: () => stop(id) });
  const going = useMutation({ mutationFn: () => goOn(id) });
  const { mutateAsync, reset } = speaking;
  /** Whether it was taken. */
  const speak = useCallback((spoken: Spoken) => mutateAsync(spoken).then(() => true, () => false), [mutateAsync]);
  return {
    speak,
    reset,
    stop: stopping.mutate,
    goOn: going.mutate,
    error: speaking.error ?? stopping.error ?? going.error,
  };
}
