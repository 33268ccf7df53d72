// What the chat asks of the server.
import { api, ask, type Schemas } from '@/api/client';

import { type Accepted, type Conversation, conversationOf, type ConversationPage, type ConversationRow, type Message } from './wire';

type Answered = Schemas['ChatReply'] | Accepted;

export interface Sent extends Pick<Schemas['ChatRequest'], 'conversationId' | 'agentId' | 'replaces'> {
  messages: readonly Message[];
}

/** The turn goes on whoever leaves; it is heard through the events of its conversation. */
export async function say({ messages, ...sent }: Sent): Promise<Accepted> {
  const answered = await ask<Answered>(api.POST('/api/chat', { body: { ...sent, messages: [...messages], detach: true } }));
  if (!('messageId' in answered)) throw new TypeError('What is detached is accepted, not answered.');
  return answered;
}

export async function readConversation(id: string, signal?: AbortSignal): Promise<Conversation> {
  return conversationOf(await ask(api.GET('/api/conversations/{id}', { params: { path: { id } }, signal })));
}

export interface Wanted {
  q: string;
  cursor: string | null;
  limit: number;
}

export function readConversations({ q, cursor, limit }: Wanted, signal?: AbortSignal): Promise<ConversationPage> {
  const query = { limit, ...(q === '' ? {} : { q }), ...(cursor === null ? {} : { cursor }) };
  return ask(api.GET('/api/conversations', { params: { query }, signal }));
}

export function rename(id: string, title: string): Promise<ConversationRow> {
  return ask(api.PATCH('/api/conversations/{id}', { params: { path: { id } }, body: { title } }));
}

export function remove(id: string): Promise<ConversationRow> {
  return ask(api.DELETE('/api/conversations/{id}', { params: { path: { id } } }));
}

/** Stops the turn that is under way. */
export function stop(id: string): Promise<ConversationRow> {
  return ask(api.POST('/api/conversations/{id}/cancel', { params: { path: { id } } }));
}

/** Goes on with a last turn that did not come to its end. */
export function goOn(id: string): Promise<Answered> {
  return ask<Answered>(api.POST('/api/conversations/{id}/continue', { params: { path: { id } }, body: { detach: true } }));
}

export const eventsOf = (id: string, after: string | undefined): string => (
  `/api/conversations/${encodeURIComponent(id)}/events${after === undefined ? '' : `?after=${encodeURIComponent(after)}`}`
);

export type Format = 'json' | 'markdown';

/** The conversation as a file, which comes without an envelope. */
export async function exported(id: string, format: Format): Promise<Blob> {
  const { data, ...rest } = await api.GET('/api/conversations/{id}/export', { params: { path: { id }, query: { format } }, parseAs: 'blob' });
  return ask(Promise.resolve({ ...rest, data: data && { data } }));
}
