// Merges a loaded conversation with the events received since.
import { SENT, withTaskResults } from './conversation';
import type { Conversation, Turn } from './wire';

/** `cached` is the state from events and sent messages. Turns that have ended are taken from `read`. */
export function mergeConversation(cached: Conversation | undefined, read: Conversation): Conversation {
  const followed = new Map((cached?.turns ?? []).map((turn) => [turn.turn, turn]));
  const turns = read.turns.map((turn) => mergeTurn(followed.get(turn.turn), turn));
  const last = read.turns.at(-1)?.turn ?? 0;
  const sent = followed.get(SENT);
  const newer = (cached?.turns ?? []).filter(({ turn }) => turn > last && turn !== SENT);
  const waits = sent !== undefined && newer.length === 0 && !isAccepted(sent, read.turns) ? [sent] : [];
  const all = [...turns, ...newer, ...waits];
  return { ...read, turns: all.reduce<readonly Turn[]>((list, turn) => withTaskResults(list, turn.input), all) };
}

/** Returns true if the sent message is among the loaded turns. */
function isAccepted(sent: Turn, turns: readonly Turn[]): boolean {
  const ids = new Set(turns.flatMap(({ input }) => input.map((one) => (one.role === 'task' ? undefined : one.messageId))));
  return sent.input.some((one) => one.role !== 'task' && one.messageId !== undefined && ids.has(one.messageId));
}

/**
 * A running turn that was followed from its start is taken from the events, since its loaded part may be
 * replayed.
 */
function mergeTurn(followed: Turn | undefined, read: Turn): Turn {
  if (followed === undefined) return read;
  if (read.finishReason === null) return followed;
  return JSON.stringify(followed) === JSON.stringify(read) ? followed : read;
}
