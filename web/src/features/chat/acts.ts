// What may be done from within a talk: say something in place of what was said, or go on.
import { createContext } from 'react';

import type { Message } from './wire';

export interface Acts {
  /** Not while an answer comes, and not by who may only look. */
  mayAct: boolean;
  /** It was asked to go on, and does not yet. */
  isGoing: boolean;
  /** What the last answer answers, to be said once more; nothing where the agent went on by itself. */
  again: { turn: number; messages: readonly Message[] } | undefined;
  /** In place of this turn and all after it. */
  say: (turn: number, messages: readonly Message[]) => void;
  /** The same, over once it was taken. */
  correct: (turn: number, messages: readonly Message[]) => Promise<void>;
  goOn: () => void;
}

export const ActsContext = createContext<Acts>({
  mayAct: false, isGoing: false, again: undefined, say: () => undefined, correct: () => Promise.resolve(), goOn: () => undefined,
});
