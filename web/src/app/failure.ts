// Why a page did not come: each kind of reason wants another way on.
import { ApiError } from '@/api/client';
import { isChunk, isUnreachable } from '@/api/unreachable';

export interface Failure {
  /** A file of the console is gone; nobody answers; the server refused; the console itself is at fault. */
  kind: 'chunk' | 'unreachable' | 'server' | 'broken';
  requestId: string | undefined;
}

export function failureOf(error: unknown): Failure {
  if (error instanceof ApiError) return { kind: 'server', requestId: error.requestId };
  if (isChunk(error)) return { kind: 'chunk', requestId: undefined };
  return { kind: isUnreachable(error) ? 'unreachable' : 'broken', requestId: undefined };
}
