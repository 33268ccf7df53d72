// Classifies why a page could not be shown, since each cause needs another remedy.
import { ApiError } from '@/api/client';
import { isChunk, isUnreachable } from '@/api/unreachable';

export interface Failure {
  /**
   * `chunk`: a file of the console is missing. `unreachable`: no response. `server`: an error response.
   * `broken`: a bug in the console.
   */
  kind: 'chunk' | 'unreachable' | 'server' | 'broken';
  requestId: string | undefined;
}

export function failureOf(error: unknown): Failure {
  if (error instanceof ApiError) return { kind: 'server', requestId: error.requestId };
  if (isChunk(error)) return { kind: 'chunk', requestId: undefined };
  return { kind: isUnreachable(error) ? 'unreachable' : 'broken', requestId: undefined };
}
