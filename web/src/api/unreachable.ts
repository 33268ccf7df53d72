// Recognizes errors of an unreachable server and words them in the console's language, since browsers use
// their own texts.
import { languageNow, texts } from '@/i18n/language';

const TEXTS = texts(
  { unreachable: 'The server does not answer. Try again in a moment.' },
  { unreachable: '服务器没有响应，请稍后重试。' },
);

/** Browser messages for a script or style sheet of the console that could not be loaded. */
const CHUNK = /dynamically imported module|importing a module script failed|valid JavaScript MIME type|unable to preload CSS/i;
/** Browser messages for a connection that failed or was interrupted. */
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

export const unreachableText = (): string => TEXTS[languageNow()].unreachable;
