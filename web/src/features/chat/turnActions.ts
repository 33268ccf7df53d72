// Actions on the turns of a conversation: edit and resend a message, regenerate, continue.
import { createContext } from 'react';

import type { Message } from './wire';

export interface TurnActions {
  /** False while a turn is running, and for users who may only read. */
  mayAct: boolean;
  /** True while a continuation was requested and has not started. */
  isContinuing: boolean;
  /**
   * The input of the last response, for regenerating it. `undefined` if the agent started the turn itself.
   */
  again: { turn: number; messages: readonly Message[] } | undefined;
  /** Sends messages that replace this turn and all after it. */
  resend: (turn: number, messages: readonly Message[]) => void;
  /** Like `resend`; resolves when the server has accepted the messages. */
  replace: (turn: number, messages: readonly Message[]) => Promise<void>;
  continueTurn: () => void;
}

export const TurnActionsContext = createContext<TurnActions>({
  mayAct: false, isContinuing: false, again: undefined, resend: () => undefined, replace: () => Promise.resolve(), continueTurn: () => undefined,
});
