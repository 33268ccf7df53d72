// What the chat says over the wire, as docs/guide/chat.md has it.
import type { ErrorKind, Schemas } from '@/api/client';

export type Result = Schemas['ToolExecutionResult'];

export interface TextPart {
  type: 'text';
  text: string;
}

export interface ImagePart {
  type: 'image_url';
  image_url: { url: string };
}

export type Part = TextPart | ImagePart;
export type Content = string | Part[];

export interface Message {
  role: 'user' | 'assistant' | 'system';
  content: Content;
}

export interface SaidInput extends Omit<Message, 'role'> {
  /** `tool` is what a program said of a call that it made itself. */
  role: Message['role'] | 'tool';
  messageId?: string;
  at?: string;
}

/** The result of a task that ended since the last turn. */
export interface TaskInput {
  role: 'task';
  taskId: string;
  callId: string;
  name: string | null;
  result: Result;
}

export type Input = SaidInput | TaskInput;

export interface Usage {
  input: number;
  output: number;
  cached?: number;
  reasoning?: number;
}

/** Why a call waits: for its task, for a person, for an answer that comes later. */
export type Reason = 'async' | 'approval' | 'later';

export interface Call {
  callId: string;
  name: string;
  arguments: unknown;
  status: 'running' | 'pending' | 'done';
  taskId?: string;
  reason?: Reason;
  result?: Result;
}

export interface Step {
  step: number;
  text: string;
  reasoning?: string;
  usage?: Usage;
  at?: string;
  ms?: number;
  calls: readonly Call[];
}

export type FinishReason = 'stop' | 'max_steps' | 'tool_stop' | 'tool_calls' | 'cancelled' | 'error';

export interface Failure {
  kind: ErrorKind;
  message: string;
}

export interface Turn {
  turn: number;
  input: readonly Input[];
  steps: readonly Step[];
  message: { role: 'assistant'; content: string } | null;
  /** Null while it is under way. */
  finishReason: FinishReason | null;
  error?: Failure;
  warnings?: readonly string[];
  usage?: Usage;
  /** The last one that answered; null before any did. */
  model?: string | null;
  startedAt?: string;
  endedAt?: string;
}

export interface ConversationRow {
  id: string;
  title: string;
  agentId: string | null;
  agentName: string | null;
  status: 'idle' | 'running' | 'waiting';
  turns: number;
  createdAt: string;
  updatedAt: string;
}

export interface ConversationPage {
  items: ConversationRow[];
  nextCursor: string | null;
}

export interface Conversation extends Omit<ConversationRow, 'turns'> {
  turns: readonly Turn[];
  pending: readonly { callId: string; taskId: string; name: string; reason: Reason }[];
  /** Behind all turns that have ended: what is under way is told from its beginning. */
  lastEventId?: string;
}

export interface Accepted {
  conversationId: string;
  messageId: string;
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
  | ({ type: 'turn.start'; conversationId: string; input: readonly Input[]; model?: string; replaces?: number } & InTurn)
  | ({ type: 'message.delta' | 'reasoning.delta'; text: string } & InStep)
  | ({ type: 'message.reset' } & InStep)
  | ({ type: 'tool.call'; arguments: unknown } & OfCall)
  | ({ type: 'tool.pending'; taskId: string; reason: Reason } & OfCall)
  | ({ type: 'tool.result'; success: true; data: unknown } & OfCall & ResultFields)
  | ({ type: 'tool.result'; success: false; error: Schemas['FailedExecution']['error'] } & OfCall & ResultFields)
  | ({ type: 'warning'; message: string } & InTurn)
  | ({ type: 'message.done'; message: { role: 'assistant'; content: string } } & InTurn)
  | ({ type: 'usage' } & Usage & InTurn)
  | ({ type: 'error' } & Failure & InTurn)
  | ({ type: 'done'; conversationId: string; finishReason: FinishReason; steps: number } & InTurn)
  | ({ type: 'turn.reset' } & InTurn);
