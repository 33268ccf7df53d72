// What the chat asks of the server.
import { ask, ownHeaders } from '@/api/client';

import type { Accepted, Conversation, ConversationPage, ConversationRow, Message } from './wire';

interface Envelope<D> {
  data: D;
}

/** As the typed client answers, for routes of which it has no types yet. */
async function send<D>(method: string, path: string, body?: unknown, signal?: AbortSignal) {
  const response = await fetch(path, {
    method,
    credentials: 'same-origin',
    headers: { ...ownHeaders(), ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await response.text();
  const said = parsed(text);
  return response.ok ? { data: said as Envelope<D>, response } : { error: said ?? {}, response };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const one = (id: string) => `/api/conversations/${encodeURIComponent(id)}`;

export interface Sent {
  messages: readonly Message[];
  conversationId?: string;
  agentId?: string;
  /** This turn and all after it are as if they had not been. */
  replaces?: number;
}

/** The turn goes on whoever leaves; it is heard through the events of its conversation. */
export function say(sent: Sent): Promise<Accepted> {
  return ask(send<Accepted>('POST', '/api/chat', { ...sent, detach: true }));
}

export function readConversation(id: string, signal?: AbortSignal): Promise<Conversation> {
  return ask(send<Conversation>('GET', one(id), undefined, signal));
}

export interface Wanted {
  q: string;
  cursor: string | null;
  limit: number;
}

export function readConversations({ q, cursor, limit }: Wanted, signal?: AbortSignal): Promise<ConversationPage> {
  const query = new URLSearchParams({ limit: String(limit), ...(q === '' ? {} : { q }), ...(cursor === null ? {} : { cursor }) });
  return ask(send<ConversationPage>('GET', `/api/conversations?${query.toString()}`, undefined, signal));
}

export function rename(id: string, title: string): Promise<ConversationRow> {
  return ask(send<ConversationRow>('PATCH', one(id), { title }));
}

export function remove(id: string): Promise<unknown> {
  return ask(send<unknown>('DELETE', one(id)));
}

/** Stops the turn that is under way. */
export function stop(id: string): Promise<unknown> {
  return ask(send<unknown>('POST', `${one(id)}/cancel`));
}

/** Goes on with a last turn that did not come to its end. */
export function goOn(id: string): Promise<unknown> {
  return ask(send<unknown>('POST', `${one(id)}/continue`, { detach: true }));
}

export const eventsOf = (id: string, after: string | undefined): string => (
  `${one(id)}/events${after === undefined ? '' : `?after=${encodeURIComponent(after)}`}`
);

export type Format = 'json' | 'markdown';

/** The conversation as a file. */
export async function exported(id: string, format: Format): Promise<Blob> {
  const response = await fetch(`${one(id)}/export?format=${format}`, { headers: ownHeaders() });
  if (!response.ok) await ask(response.text().then((text) => ({ error: parsed(text) ?? {}, response })));
  return response.blob();
}
