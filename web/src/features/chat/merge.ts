// A conversation that was read, brought together with what was heard of it meanwhile.
import { SENT, told } from './conversation';
import type { Conversation, Turn } from './wire';

/** `known` is what was heard up to now, or what was just sent. Turns that have ended are as they were read. */
export function merged(known: Conversation | undefined, read: Conversation): Conversation {
  const heard = new Map((known?.turns ?? []).map((turn) => [turn.turn, turn]));
  const turns = read.turns.map((turn) => mergedTurn(heard.get(turn.turn), turn));
  const last = read.turns.at(-1)?.turn ?? 0;
  const sent = heard.get(SENT);
  const newer = (known?.turns ?? []).filter(({ turn }) => turn > last && turn !== SENT);
  const waits = sent !== undefined && newer.length === 0 && !isTaken(sent, read.turns) ? [sent] : [];
  const all = [...turns, ...newer, ...waits];
  return { ...read, turns: all.reduce<readonly Turn[]>((list, turn) => told(list, turn.input), all) };
}

/** Whether what was sent is among what was read. */
function isTaken(sent: Turn, turns: readonly Turn[]): boolean {
  const ids = new Set(turns.flatMap(({ input }) => input.map((one) => (one.role === 'task' ? undefined : one.messageId))));
  return sent.input.some((one) => one.role !== 'task' && one.messageId !== undefined && ids.has(one.messageId));
}

/** One that is under way and was heard from its beginning is as it was heard: what was read of it may be told once more. */
function mergedTurn(heard: Turn | undefined, read: Turn): Turn {
  if (heard === undefined) return read;
  if (read.finishReason === null) return heard;
  return JSON.stringify(heard) === JSON.stringify(read) ? heard : read;
}
