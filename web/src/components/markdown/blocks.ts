// A growing text in blocks: only from the last one on is it read anew, so that what stands is not drawn again.
import { lexer, type Token } from 'marked';

export interface Block {
  /** Where it begins, which tells it from the others. */
  at: number;
  raw: string;
  token: Token;
}

export interface Read {
  text: string;
  blocks: readonly Block[];
}

export const NOTHING: Read = { text: '', blocks: [] };

/** `before` is what was read of the text when it was shorter. */
export function read(text: string, before: Read): Read {
  if (text === before.text) return before;
  const kept = text.startsWith(before.text) ? settled(before.blocks) : [];
  const last = kept.at(-1);
  let at = last === undefined ? 0 : last.at + last.raw.length;
  const blocks = [...kept];
  for (const token of lexer(text.slice(at))) {
    blocks.push({ at, raw: token.raw, token });
    at += token.raw.length;
  }
  return { text, blocks };
}

/** All but the last one that is no empty line: a line below may still belong to it. */
function settled(blocks: readonly Block[]): readonly Block[] {
  const end = blocks.findLastIndex(({ token }) => token.type !== 'space');
  return blocks.slice(0, Math.max(0, end));
}
