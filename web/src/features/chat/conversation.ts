// The state of a conversation as pure functions: turns and an event give the next turns.
import { type Call, type ChatEvent, type Input, isInput, type Result, type Step, type Turn } from './wire';

type Turns = readonly Turn[];
type Of<T extends ChatEvent['type']> = Extract<ChatEvent, { type: T }>;

/**
 * Applies an event to the turns. Unchanged turns stay the same objects, so that they are not rendered again.
 */
export function applyEvent(turns: Turns, event: ChatEvent): Turns {
  switch (event.type) {
    case 'turn.start': return startTurn(turns, event);
    case 'turn.reset': return change(turns, event.turn, resetTurn);
    case 'message.delta': return inStep(turns, event, (step) => ({ ...step, text: step.text + event.text }));
    case 'reasoning.delta': return inStep(turns, event, (step) => ({ ...step, reasoning: (step.reasoning ?? '') + event.text }));
    case 'message.reset': return inStep(turns, event, ({ step }) => ({ step, text: '', calls: [] }));
    case 'tool.call': return inCall(turns, event, (call) => ({ ...call, arguments: event.arguments }));
    case 'tool.pending': return inCall(turns, event, (call) => withPending(call, event));
    case 'tool.result': return inCall(turns, event, (call) => ({ ...call, status: 'done', result: resultOf(event) }));
    case 'warning': return change(turns, event.turn, (turn) => ({ ...turn, warnings: [...(turn.warnings ?? []), event.message] }));
    case 'message.done': return change(turns, event.turn, (turn) => withMessage(turn, event.message));
    case 'usage': return change(turns, event.turn, (turn) => ({ ...turn, usage: usageOf(event) }));
    case 'error': return change(turns, event.turn, (turn) => ({ ...turn, error: { kind: event.kind, message: event.message } }));
    case 'done': return change(turns, event.turn, (turn) => ({ ...turn, finishReason: event.finishReason, endedAt: turn.endedAt ?? now() }));
  }
}

const TYPES: Readonly<Record<ChatEvent['type'], true>> = {
  'turn.start': true, 'turn.reset': true, 'message.delta': true, 'reasoning.delta': true, 'message.reset': true, 'tool.call': true,
  'tool.pending': true, 'tool.result': true, warning: true, 'message.done': true, usage: true, error: true, done: true,
};

/** Returns true for known event types; a newer server may send others. */
export function isChatEvent(event: { type: string; turn?: unknown }): event is ChatEvent {
  return event.type in TYPES && typeof event.turn === 'number';
}

const now = () => new Date().toISOString();

/** The turn number of a sent message until the server has accepted it. */
export const SENT = Number.MAX_SAFE_INTEGER;

/** Adds a message that is being sent, before the server responds. */
export function withSent(turns: Turns, input: readonly Input[], replaces?: number): Turns {
  const remaining = turns.filter(({ turn }) => turn !== SENT && (replaces === undefined || turn < replaces));
  return [...remaining, { turn: SENT, input, steps: [], message: null, finishReason: null, startedAt: now() }];
}

export const withoutSent = (turns: Turns): Turns => turns.filter(({ turn }) => turn !== SENT);

/**
 * Removes a refused message and restores the turns that it was to replace; events received since stay
 * applied.
 */
export function revertSent(turns: Turns, before: Turns, replaces?: number): Turns {
  const now = withoutSent(turns);
  if (replaces === undefined) return now;
  const known = new Set(now.map(({ turn }) => turn));
  const hidden = withoutSent(before).filter(({ turn }) => turn >= replaces && !known.has(turn));
  return [...now, ...hidden].toSorted(byNumber);
}

/** Returns true if a turn starts with the message of this id. */
export function hasMessage(turns: Turns, messageId: string): boolean {
  return turns.some(({ input }) => input.some((one) => one.role !== 'task' && one.messageId === messageId));
}

/** Starts a turn. A turn that is already known is replayed from its beginning. */
function startTurn(turns: Turns, { turn, input: given, model, replaces }: Of<'turn.start'>): Turns {
  const input = given.filter(isInput);
  const remaining = turns.filter((one) => one.turn !== SENT && one.turn !== turn && (replaces === undefined || one.turn < replaces));
  const startedAt = turns.find((one) => one.turn === turn)?.startedAt ?? now();
  const fresh: Turn = { turn, input, steps: [], message: null, finishReason: null, startedAt, ...(model === undefined ? {} : { model }) };
  return withTaskResults([...remaining, fresh].toSorted(byNumber), input);
}

const byNumber = (one: Turn, other: Turn): number => one.turn - other.turn;

/** Assigns the results of tasks to the calls that started them. */
export function withTaskResults(turns: Turns, input: readonly Input[]): Turns {
  return input.reduce<Turns>((all, one) => (one.role === 'task' ? withResult(all, one.callId, one.result) : all), turns);
}

function withResult(turns: Turns, callId: string, result: Result): Turns {
  const settle = (call: Call): Call => (call.callId === callId && call.status !== 'done' ? { ...call, status: 'done', result } : call);
  return sameOr(turns, (turn) => replaced(turn, 'steps', sameOr(turn.steps, (step) => replaced(step, 'calls', sameOr(step.calls, settle)))));
}

function resetTurn({ turn, input, model, startedAt }: Turn): Turn {
  return { turn, input, steps: [], message: null, finishReason: null, ...(model === undefined ? {} : { model }), ...(startedAt === undefined ? {} : { startedAt }) };
}

/** Continues a turn after its end, which is discarded. */
function reopenTurn(turn: Turn): Turn {
  const going: Turn = { ...turn, message: null, finishReason: null };
  delete going.error;
  delete going.endedAt;
  return going;
}

/** The final text that is in no step: of a tool that ended the turn, or of a stopped response. */
export function finalText({ message, steps }: Turn): string {
  return message === null || message.content === steps.at(-1)?.text ? '' : message.content;
}

/** Sets the final message, and completes the text of the last step if a part of it was missed. */
function withMessage(turn: Turn, message: NonNullable<Turn['message']>): Turn {
  const [last] = turn.steps.slice(-1);
  if (last === undefined || last.calls.length > 0 || last.text === message.content) return { ...turn, message };
  return { ...turn, message, steps: [...turn.steps.slice(0, -1), { ...last, text: message.content }] };
}

function withPending(call: Call, { taskId, reason }: Of<'tool.pending'>): Call {
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

/** Changes a turn. If its start was missed, it is added first. */
function change(turns: Turns, number: number, by: (turn: Turn) => Turn): Turns {
  const [last] = turns.slice(-1);
  if (last?.turn === number) return [...turns.slice(0, -1), by(last)];
  if (turns.some(({ turn }) => turn === number)) return turns.map((one) => (one.turn === number ? by(one) : one));
  const fresh: Turn = { turn: number, input: [], steps: [], message: null, finishReason: null, startedAt: now() };
  return [...withoutSent(turns), by(fresh)].toSorted(byNumber);
}

function inStep(turns: Turns, { turn: number, step: stepNumber }: { turn: number; step: number }, by: (step: Step) => Step): Turns {
  return change(turns, number, (given) => {
    const turn = given.finishReason === null ? given : reopenTurn(given);
    const steps = turn.steps.some(({ step }) => step === stepNumber) ? turn.steps : [...turn.steps, { step: stepNumber, text: '', at: now(), calls: [] }];
    return { ...turn, steps: sameOr(steps, (step) => (step.step === stepNumber ? by(step) : step)) };
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

/** Maps a list, and returns the same list if no item changed. */
function sameOr<T>(list: readonly T[], by: (one: T) => T): readonly T[] {
  const next = list.map(by);
  return next.every((one, at) => one === list[at]) ? list : next;
}

function replaced<T, K extends keyof T>(whole: T, field: K, value: T[K]): T {
  return whole[field] === value ? whole : { ...whole, [field]: value };
}
