// The API requests of the chat.
import { api, ask, type Schemas } from '@/api/client';

import { type Accepted, type Conversation, conversationOf, type ConversationPage, type ConversationRow, type Message } from './wire';

type TurnResponse = Schemas['ChatReply'] | Accepted;

export interface Sent extends Pick<Schemas['ChatRequest'], 'conversationId' | 'agentId' | 'replaces'> {
  messages: readonly Message[];
}

/**
 * Sends messages. The turn continues after a disconnect; its output arrives as events of the conversation.
 */
export async function sendMessages({ messages, ...sent }: Sent): Promise<Accepted> {
  const response = await ask<TurnResponse>(api.POST('/api/chat', { body: { ...sent, messages: [...messages], detach: true } }));
  if (!('messageId' in response)) throw new TypeError('The server returned a result for a detached request.');
  return response;
}

export async function readConversation(id: string, signal?: AbortSignal): Promise<Conversation> {
  return conversationOf(await ask(api.GET('/api/conversations/{id}', { params: { path: { id } }, signal })));
}

export interface ConversationListQuery {
  q: string;
  cursor: string | null;
  limit: number;
}

export function readConversations({ q, cursor, limit }: ConversationListQuery, signal?: AbortSignal): Promise<ConversationPage> {
  const query = { limit, ...(q === '' ? {} : { q }), ...(cursor === null ? {} : { cursor }) };
  return ask(api.GET('/api/conversations', { params: { query }, signal }));
}

export function rename(id: string, title: string): Promise<ConversationRow> {
  return ask(api.PATCH('/api/conversations/{id}', { params: { path: { id } }, body: { title } }));
}

export function remove(id: string): Promise<ConversationRow> {
  return ask(api.DELETE('/api/conversations/{id}', { params: { path: { id } } }));
}

/** Stops the running turn. */
export function stop(id: string): Promise<ConversationRow> {
  return ask(api.POST('/api/conversations/{id}/cancel', { params: { path: { id } } }));
}

/** Continues a last turn that ended early. */
export function continueTurn(id: string): Promise<TurnResponse> {
  return ask<TurnResponse>(api.POST('/api/conversations/{id}/continue', { params: { path: { id } }, body: { detach: true } }));
}

export const eventsOf = (id: string, after: string | undefined): string => (
  `/api/conversations/${encodeURIComponent(id)}/events${after === undefined ? '' : `?after=${encodeURIComponent(after)}`}`
);

export type Format = 'json' | 'markdown';

/** The conversation as a file; this response has no envelope. */
export async function exported(id: string, format: Format): Promise<Blob> {
  const { data, ...rest } = await api.GET('/api/conversations/{id}/export', { params: { path: { id }, query: { format } }, parseAs: 'blob' });
  return ask(Promise.resolve({ ...rest, data: data && { data } }));
}
