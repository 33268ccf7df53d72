// A conversation as it goes on: turns and an event make the turns after it. Nothing here asks, waits or draws.
import { type Call, type ChatEvent, type Input, isInput, type Result, type Step, type Turn } from './wire';

type Turns = readonly Turn[];
type Of<T extends ChatEvent['type']> = Extract<ChatEvent, { type: T }>;

/** What happened comes to; what is not touched stays the same object, so that it is not drawn again. */
export function after(turns: Turns, event: ChatEvent): Turns {
  switch (event.type) {
    case 'turn.start': return started(turns, event);
    case 'turn.reset': return change(turns, event.turn, again);
    case 'message.delta': return inStep(turns, event, (step) => ({ ...step, text: step.text + event.text }));
    case 'reasoning.delta': return inStep(turns, event, (step) => ({ ...step, reasoning: (step.reasoning ?? '') + event.text }));
    case 'message.reset': return inStep(turns, event, ({ step }) => ({ step, text: '', calls: [] }));
    case 'tool.call': return inCall(turns, event, (call) => ({ ...call, arguments: event.arguments }));
    case 'tool.pending': return inCall(turns, event, (call) => pending(call, event));
    case 'tool.result': return inCall(turns, event, (call) => ({ ...call, status: 'done', result: resultOf(event) }));
    case 'warning': return change(turns, event.turn, (turn) => ({ ...turn, warnings: [...(turn.warnings ?? []), event.message] }));
    case 'message.done': return change(turns, event.turn, (turn) => spoken(turn, event.message));
    case 'usage': return change(turns, event.turn, (turn) => ({ ...turn, usage: usageOf(event) }));
    case 'error': return change(turns, event.turn, (turn) => ({ ...turn, error: { kind: event.kind, message: event.message } }));
    case 'done': return change(turns, event.turn, (turn) => ({ ...turn, finishReason: event.finishReason, endedAt: turn.endedAt ?? now() }));
  }
}

const TYPES: Readonly<Record<ChatEvent['type'], true>> = {
  'turn.start': true, 'turn.reset': true, 'message.delta': true, 'reasoning.delta': true, 'message.reset': true, 'tool.call': true,
  'tool.pending': true, 'tool.result': true, warning: true, 'message.done': true, usage: true, error: true, done: true,
};

/** Whether it is one that is known here; a newer server may tell of more. */
export function isChatEvent(event: { type: string; turn?: unknown }): event is ChatEvent {
  return event.type in TYPES && typeof event.turn === 'number';
}

const now = () => new Date().toISOString();

/** Stands for what was sent until the server has taken it up. */
export const SENT = Number.MAX_SAFE_INTEGER;

/** With what somebody just sent, before the server says anything about it. */
export function withSent(turns: Turns, input: readonly Input[], replaces?: number): Turns {
  const kept = turns.filter(({ turn }) => turn !== SENT && (replaces === undefined || turn < replaces));
  return [...kept, { turn: SENT, input, steps: [], message: null, finishReason: null, startedAt: now() }];
}

export const withoutSent = (turns: Turns): Turns => turns.filter(({ turn }) => turn !== SENT);

/** What was sent was refused: it goes, what it was to replace comes back, and what was heard meanwhile stays. */
export function takenBack(turns: Turns, before: Turns, replaces?: number): Turns {
  const now = withoutSent(turns);
  if (replaces === undefined) return now;
  const known = new Set(now.map(({ turn }) => turn));
  const hidden = withoutSent(before).filter(({ turn }) => turn >= replaces && !known.has(turn));
  return [...now, ...hidden].toSorted(byNumber);
}

/** Whether a turn began with what is known by this id. */
export function isHeardOf(turns: Turns, messageId: string): boolean {
  return turns.some(({ input }) => input.some((one) => one.role !== 'task' && one.messageId === messageId));
}

/** A turn that is known already is told again, from its beginning. */
function started(turns: Turns, { turn, input: given, model, replaces }: Of<'turn.start'>): Turns {
  const input = given.filter(isInput);
  const kept = turns.filter((one) => one.turn !== SENT && one.turn !== turn && (replaces === undefined || one.turn < replaces));
  const startedAt = turns.find((one) => one.turn === turn)?.startedAt ?? now();
  const fresh: Turn = { turn, input, steps: [], message: null, finishReason: null, startedAt, ...(model === undefined ? {} : { model }) };
  return told([...kept, fresh].toSorted(byNumber), input);
}

const byNumber = (one: Turn, other: Turn): number => one.turn - other.turn;

/** What came in later belongs to the call that was made before. */
export function told(turns: Turns, input: readonly Input[]): Turns {
  return input.reduce<Turns>((all, one) => (one.role === 'task' ? answered(all, one.callId, one.result) : all), turns);
}

function answered(turns: Turns, callId: string, result: Result): Turns {
  const settle = (call: Call): Call => (call.callId === callId && call.status !== 'done' ? { ...call, status: 'done', result } : call);
  return sameOr(turns, (turn) => replaced(turn, 'steps', sameOr(turn.steps, (step) => replaced(step, 'calls', sameOr(step.calls, settle)))));
}

function again({ turn, input, model, startedAt }: Turn): Turn {
  return { turn, input, steps: [], message: null, finishReason: null, ...(model === undefined ? {} : { model }), ...(startedAt === undefined ? {} : { startedAt }) };
}

/** Goes on after it had ended: what it ended with counts no more. */
function reopened(turn: Turn): Turn {
  const going: Turn = { ...turn, message: null, finishReason: null };
  delete going.error;
  delete going.endedAt;
  return going;
}

/** The whole text is told at the end, for who missed a part of it. */
/** Last words that no step has: those of the tool that ended the turn, or of an answer that was stopped. */
export function untold({ message, steps }: Turn): string {
  return message === null || message.content === steps.at(-1)?.text ? '' : message.content;
}

function spoken(turn: Turn, message: NonNullable<Turn['message']>): Turn {
  const [last] = turn.steps.slice(-1);
  if (last === undefined || last.calls.length > 0 || last.text === message.content) return { ...turn, message };
  return { ...turn, message, steps: [...turn.steps.slice(0, -1), { ...last, text: message.content }] };
}

function pending(call: Call, { taskId, reason }: Of<'tool.pending'>): Call {
  return call.status === 'done' ? call : { ...call, status: 'pending', taskId, reason };
}

function resultOf(event: Of<'tool.result'>): Result {
  const { callId, name: toolName, executionTime, attempts, cached } = event;
  const rest = { callId, toolName, executionTime, attempts, cached };
  return event.success ? { success: true, data: event.data, ...rest } : { success: false, error: event.error, ...rest };
}

function usageOf({ input, output, cached, reasoning }: Of<'usage'>): NonNullable<Turn['usage']> {
  return { input, output, ...(cached === undefined ? {} : { cached }), ...(reasoning === undefined ? {} : { reasoning }) };
}

/** A turn that is not known yet, since its beginning was missed, begins with what is told now. */
function change(turns: Turns, number: number, by: (turn: Turn) => Turn): Turns {
  const [last] = turns.slice(-1);
  if (last?.turn === number) return [...turns.slice(0, -1), by(last)];
  if (turns.some(({ turn }) => turn === number)) return turns.map((one) => (one.turn === number ? by(one) : one));
  const fresh: Turn = { turn: number, input: [], steps: [], message: null, finishReason: null, startedAt: now() };
  return [...withoutSent(turns), by(fresh)].toSorted(byNumber);
}

function inStep(turns: Turns, { turn: number, step: place }: { turn: number; step: number }, by: (step: Step) => Step): Turns {
  return change(turns, number, (given) => {
    const turn = given.finishReason === null ? given : reopened(given);
    const steps = turn.steps.some(({ step }) => step === place) ? turn.steps : [...turn.steps, { step: place, text: '', at: now(), calls: [] }];
    return { ...turn, steps: sameOr(steps, (step) => (step.step === place ? by(step) : step)) };
  });
}

function inCall(turns: Turns, event: { turn: number; step: number; callId: string; name: string }, by: (call: Call) => Call): Turns {
  const { callId, name } = event;
  return inStep(turns, event, (step) => {
    const isKnown = step.calls.some((call) => call.callId === callId);
    const calls: readonly Call[] = isKnown ? step.calls : [...step.calls, { callId, name, arguments: undefined, status: 'running' }];
    return { ...step, calls: sameOr(calls, (call) => (call.callId === callId ? by(call) : call)) };
  });
}

/** Each one by turns; the list itself where none became another. */
function sameOr<T>(list: readonly T[], by: (one: T) => T): readonly T[] {
  const next = list.map(by);
  return next.every((one, at) => one === list[at]) ? list : next;
}

function replaced<T, K extends keyof T>(whole: T, field: K, value: T[K]): T {
  return whole[field] === value ? whole : { ...whole, [field]: value };
}
