// Why a page did not come: each kind of reason wants another way on.
import { ApiError } from '@/api/client';

export interface Failure {
  /** A file of the console is gone; nobody answers; the server refused; the console itself is at fault. */
  kind: 'chunk' | 'unreachable' | 'server' | 'broken';
  requestId: string | undefined;
}

/** What browsers say, and the loader of styles. */
const CHUNK = /dynamically imported module|importing a module script failed|valid JavaScript MIME type|unable to preload CSS/i;
const UNREACHABLE = /failed to fetch|networkerror|load failed|network connection/i;

export function failureOf(error: unknown): Failure {
  if (error instanceof ApiError) return { kind: 'server', requestId: error.requestId };
  const message = error instanceof Error ? error.message : '';
  if (CHUNK.test(message)) return { kind: 'chunk', requestId: undefined };
  const isUnreachable = error instanceof TypeError && UNREACHABLE.test(message);
  return { kind: isUnreachable ? 'unreachable' : 'broken', requestId: undefined };
}
