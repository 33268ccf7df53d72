// What somebody said: its text, its pictures, and both together as they are sent.
import type { Content, Input, Message, SaidInput, Turn } from './wire';

export interface Said {
  text: string;
  /** Addresses of pictures: `data:` for those that were added here. */
  images: readonly string[];
}

export const NOTHING_SAID: Said = { text: '', images: [] };

export const isEmpty = ({ text, images }: Said): boolean => text.trim() === '' && images.length === 0;

export function saidOf(content: Content): Said {
  if (typeof content === 'string') return { text: content, images: [] };
  return {
    text: content.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : [])).join('\n\n'),
    images: content.flatMap(({ type, image_url: image }) => (type === 'image_url' && image !== undefined ? [image.url] : [])),
  };
}

export function contentOf({ text, images }: Said): Content {
  const trimmed = text.trim();
  if (images.length === 0) return trimmed;
  const pictures = images.map((url) => ({ type: 'image_url' as const, image_url: { url } }));
  return trimmed === '' ? pictures : [{ type: 'text', text: trimmed }, ...pictures];
}

const isSaid = (input: Input): input is SaidInput => input.role !== 'task';

/** What a turn began with, to be said again; nothing where it began by itself. */
export function messagesOf(input: readonly Input[]): Message[] {
  return input.filter(isSaid).filter(({ role }) => role === 'user').map(({ content }) => ({ role: 'user', content }));
}

/** What the last answer answers: what its turn began with, or that of the turn that it goes on with. */
export function againOf(turns: readonly Turn[]): { turn: number; messages: Message[] } | undefined {
  const last = turns.findLast(({ input }) => input.length > 0);
  const messages = messagesOf(last?.input ?? []);
  return last === undefined || messages.length === 0 ? undefined : { turn: last.turn, messages };
}

/** A picture that the page may show: the policy lets in no other. */
export const isShowable = (url: string): boolean => url.startsWith('data:image/');
