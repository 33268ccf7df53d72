// How the console asks the server: typed by its OpenAPI document, in the space and language that were chosen.
import createClient, { type Middleware } from 'openapi-fetch';

import { languageNow } from '@/i18n/language';

import type { components, paths } from './schema';
import { isUnreachable, unreachableWords } from './unreachable';

export type Schemas = components['schemas'];
export type ErrorKind = Schemas['ErrorKind'];

/** A field that is wrong, by its path in what was sent. */
export interface Violation {
  path: string;
  message: string;
}

/** What the server said instead of an answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly kind: ErrorKind | undefined,
    readonly details: Record<string, unknown>,
    readonly requestId: string | undefined,
    /** The `data` beside the error: the result of a call that failed. */
    readonly data: unknown,
  ) {
    super(message);
    this.name = 'ApiError';
  }

  /** What is wrong with which field, where the server said so. */
  get violations(): Violation[] {
    const listed = this.details['errors'] ?? this.details['violations'];
    if (!Array.isArray(listed)) return [];
    return listed.filter(isViolation);
  }
}

/** Whether the session is refused because its chosen space is gone, or its user no longer in it. */
export function isSpaceLost(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403 && error.details['what'] === 'space';
}

function isViolation(value: unknown): value is Violation {
  return typeof value === 'object' && value !== null && 'path' in value && 'message' in value;
}

const SPACE = 'haft.space';

/** The space that requests are about; one's own when none was chosen. */
export function chosenSpace(): string | null {
  return sessionStorage.getItem(SPACE) ?? localStorage.getItem(SPACE);
}

export function chooseSpace(id: string | null): void {
  if (id === null) {
    sessionStorage.removeItem(SPACE);
    localStorage.removeItem(SPACE);
    return;
  }
  sessionStorage.setItem(SPACE, id);
  localStorage.setItem(SPACE, id);
}

/** Forgets the space that was chosen where one is no longer in it: everything would be refused there. */
export function leaveStrangeSpace(own: readonly { id: string }[]): void {
  const chosen = chosenSpace();
  if (chosen !== null && own.every(({ id }) => id !== chosen)) chooseSpace(null);
}

/** The headers of every request. */
export function ownHeaders(): Record<string, string> {
  const space = chosenSpace();
  return { 'accept-language': languageNow(), ...(space === null ? {} : { 'haft-space': space }) };
}

const identity: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(ownHeaders())) request.headers.set(name, value);
    return request;
  },
};

export const api = createClient<paths>({ baseUrl: '', credentials: 'same-origin' });
api.use(identity);

interface Answer<D> {
  data?: { data: D } | undefined;
  error?: unknown;
  response: Response;
}

/** The `data` of an answer, or what the server said is wrong. */
export async function ask<D>(answer: Promise<Answer<D>>): Promise<D> {
  return (await askTagged(answer)).data;
}

/** The same with the version that `If-Match` names. */
export async function askTagged<D>(answer: Promise<Answer<D>>): Promise<{ data: D; tag: string | null }> {
  const { data, error, response } = await answer;
  if (error !== undefined || data === undefined) throw failure(error, response);
  return { data: data.data, tag: response.headers.get('etag') };
}

function failure(body: unknown, response: Response): ApiError {
  const said = (typeof body === 'object' && body !== null ? body : {}) as Partial<Schemas['Error']>;
  const details = (said.error?.details ?? {}) as Record<string, unknown>;
  const message = said.message ?? `${response.status} ${response.statusText}`;
  return new ApiError(
    response.status,
    message,
    said.error?.kind,
    details,
    // What stands before the server answers in its own words.
    said.error?.requestId ?? response.headers.get('x-request-id') ?? undefined,
    (said as { data?: unknown }).data,
  );
}

/** The words of whatever went wrong. */
export function wordsOf(error: unknown): string {
  if (isUnreachable(error)) return unreachableWords();
  return error instanceof Error ? error.message : String(error);
}
