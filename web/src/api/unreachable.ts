// A server that nobody reaches: told from all else that goes wrong, and in words of our own, since the browser's are its own.
import { languageNow, words } from '@/i18n/language';

const WORDS = words(
  { unreachable: 'The server does not answer. Try again in a moment.' },
  { unreachable: '服务器没有响应，请稍后重试。' },
);

/** What browsers say when a file of the console does not come, and the loader of styles. */
const CHUNK = /dynamically imported module|importing a module script failed|valid JavaScript MIME type|unable to preload CSS/i;
/** What they say when nobody answers, or stops in the middle. */
const UNREACHABLE = /failed to fetch|network ?error|load failed|(network|internet) connection|could not connect/i;

/** A file of the console could not be loaded. */
export class ChunkError extends Error {
  constructor(cause: unknown) {
    super(`A file of the console could not be loaded: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'ChunkError';
  }
}

export const isChunk = (error: unknown): boolean => error instanceof ChunkError || (error instanceof Error && CHUNK.test(error.message));

export const isUnreachable = (error: unknown): boolean => error instanceof TypeError && !isChunk(error) && UNREACHABLE.test(error.message);

export const unreachableWords = (): string => WORDS[languageNow()].unreachable;
