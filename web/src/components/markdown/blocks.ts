// Incremental parser for growing Markdown: reads again from the last block on, so that finished blocks are
// not rendered again.
import { lexer, type Token } from 'marked';

export interface Block {
  /** The offset of the block in the text, which identifies it. */
  at: number;
  raw: string;
  token: Token;
}

export interface Read {
  text: string;
  blocks: readonly Block[];
}

export const NOTHING: Read = { text: '', blocks: [] };

/** Parses the text; `before` is the result for its shorter prefix. */
export function read(text: string, before: Read): Read {
  if (text === before.text) return before;
  const finished = text.startsWith(before.text) ? finishedBlocks(before.blocks) : [];
  const last = finished.at(-1);
  let at = last === undefined ? 0 : last.at + last.raw.length;
  const blocks = [...finished];
  for (const token of lexer(text.slice(at))) {
    blocks.push({ at, raw: token.raw, token });
    at += token.raw.length;
  }
  return { text, blocks };
}

/** The finished blocks: all before the last non-empty one, which the next line may extend. */
function finishedBlocks(blocks: readonly Block[]): readonly Block[] {
  const end = blocks.findLastIndex(({ token }) => token.type !== 'space');
  return blocks.slice(0, Math.max(0, end));
}
