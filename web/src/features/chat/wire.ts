// Types of the chat API: generated types, narrowed where the OpenAPI document is less precise, and the
// events.
import type { ErrorKind, Schemas } from '@/api/client';

type ReadTurn = Schemas['ConversationTurn'];
type ReadStep = Schemas['ConversationStep'];
type ReadCall = Schemas['ConversationCall'];
type ReadInput = Schemas['ConversationInput'];

export type Result = Schemas['ToolExecutionResult'];
export type Content = Schemas['ChatContent'];
export type Message = Schemas['ChatMessage'];
export type Accepted = Schemas['ChatAccepted'];
export type ConversationRow = Schemas['ConversationFacts'];
export type ConversationPage = Schemas['ConversationPage'];

/** A `tool` message is the result of a call that the client executed itself. */
export interface MessageInput extends Pick<ReadInput, 'messageId' | 'at'> {
  role: Exclude<ReadInput['role'], 'task'>;
  content: Content;
}

/** The result of a task that ended since the last turn. */
export interface TaskInput {
  role: 'task';
  taskId: string;
  callId: string;
  name: string | null;
  result: Result;
}

export type Input = MessageInput | TaskInput;

export type Call = Omit<ReadCall, 'result'> & { result?: Result };

/** A step from events has fewer fields than a loaded one; so has a turn. */
export type Step = Pick<ReadStep, 'step' | 'text'> & Partial<Omit<ReadStep, 'calls'>> & { calls: readonly Call[] };

export type Turn = Pick<ReadTurn, 'turn' | 'message' | 'finishReason'> & Partial<Omit<ReadTurn, 'input' | 'steps'>> & {
  input: readonly Input[];
  steps: readonly Step[];
};

export interface Conversation extends Omit<Schemas['Conversation'], 'turns' | 'lastEventId'> {
  turns: readonly Turn[];
  /**
   * The position after all ended turns; a running turn is replayed from its start. Absent before the
   * conversation is loaded.
   */
  lastEventId?: string;
}

/**
 * Checks the fields that the OpenAPI document leaves open: the fields of each role, and that a result is a
 * tool result.
 */
export function conversationOf(read: Schemas['Conversation']): Conversation {
  const stepOf = (step: ReadStep): Step => ({ ...step, calls: step.calls.filter(isCall) });
  return { ...read, turns: read.turns.map((turn) => ({ ...turn, input: turn.input.filter(isInput), steps: turn.steps.map(stepOf) })) };
}

const isResult = (result: ReadCall['result']): result is Result => typeof result?.['success'] === 'boolean';

const isCall = (call: ReadCall): call is ReadCall & Call => call.result === undefined || isResult(call.result);

export function isInput(input: ReadInput): input is Input {
  if (input.role !== 'task') return input.content !== undefined;
  return input.taskId !== undefined && input.callId !== undefined && input.name !== undefined && isResult(input.result);
}

interface InTurn {
  turn: number;
}

interface InStep extends InTurn {
  step: number;
}

interface OfCall extends InStep {
  callId: string;
  name: string;
}

interface ResultFields {
  executionTime: number;
  attempts: number;
  cached: boolean;
}

export type ChatEvent =
  | ({ type: 'turn.start'; conversationId: string; input: readonly ReadInput[]; model?: string; replaces?: number } & InTurn)
  | ({ type: 'message.delta' | 'reasoning.delta'; text: string } & InStep)
  | ({ type: 'message.reset' } & InStep)
  | ({ type: 'tool.call'; arguments: unknown } & OfCall)
  | ({ type: 'tool.pending'; taskId: string; reason: NonNullable<ReadCall['reason']> } & OfCall)
  | ({ type: 'tool.result'; success: true; data: unknown } & OfCall & ResultFields)
  | ({ type: 'tool.result'; success: false; error: Schemas['FailedExecution']['error'] } & OfCall & ResultFields)
  | ({ type: 'warning'; message: string } & InTurn)
  | ({ type: 'message.done'; message: Schemas['AssistantMessage'] } & InTurn)
  | ({ type: 'usage' } & Schemas['TokenUsage'] & InTurn)
  | ({ type: 'error'; kind: ErrorKind; message: string } & InTurn)
  | ({ type: 'done'; conversationId: string; finishReason: Schemas['FinishReason']; steps: number } & InTurn)
  | ({ type: 'turn.reset' } & InTurn);
