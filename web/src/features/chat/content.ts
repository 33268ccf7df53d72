// The content of a user message: text and pictures, and its conversion from and to the API.
import type { Content, Input, Message, MessageInput, Turn } from './wire';

export interface MessageDraft {
  text: string;
  /** Addresses of pictures; those added here are `data:` URLs. */
  images: readonly string[];
}

export const EMPTY_DRAFT: MessageDraft = { text: '', images: [] };

export const isEmpty = ({ text, images }: MessageDraft): boolean => text.trim() === '' && images.length === 0;

export function messageDraftOf(content: Content): MessageDraft {
  if (typeof content === 'string') return { text: content, images: [] };
  return {
    text: content.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : [])).join('\n\n'),
    images: content.flatMap(({ type, image_url: image }) => (type === 'image_url' && image !== undefined ? [image.url] : [])),
  };
}

export function contentOf({ text, images }: MessageDraft): Content {
  const trimmed = text.trim();
  if (images.length === 0) return trimmed;
  const pictures = images.map((url) => ({ type: 'image_url' as const, image_url: { url } }));
  return trimmed === '' ? pictures : [{ type: 'text', text: trimmed }, ...pictures];
}

const isMessageInput = (input: Input): input is MessageInput => input.role !== 'task';

/** The user messages of a turn, for sending them again. Empty if the agent started the turn itself. */
export function messagesOf(input: readonly Input[]): Message[] {
  return input.filter(isMessageInput).filter(({ role }) => role === 'user').map(({ content }) => ({ role: 'user', content }));
}

/**
 * The input of the last response: that of its turn, or of the turn that it continues. Returns `undefined` if
 * there is none.
 */
export function againOf(turns: readonly Turn[]): { turn: number; messages: Message[] } | undefined {
  const last = turns.findLast(({ input }) => input.length > 0);
  const messages = messagesOf(last?.input ?? []);
  return last === undefined || messages.length === 0 ? undefined : { turn: last.turn, messages };
}

/** Returns true if the page may show the picture: the content security policy allows only `data:` URLs. */
export const isShowable = (url: string): boolean => url.startsWith('data:image/');
