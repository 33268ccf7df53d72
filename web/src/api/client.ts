// The API client: typed by the OpenAPI document, with the chosen space and language in every request.
import createClient, { type Middleware } from 'openapi-fetch';

import { languageNow } from '@/i18n/language';

import type { components, paths } from './schema';
import { isUnreachable, unreachableText } from './unreachable';

export type Schemas = components['schemas'];
export type ErrorKind = Schemas['ErrorKind'];

/** A field that failed validation, by its path in the request body. */
export interface Violation {
  path: string;
  message: string;
}

/** An error response of the server. */
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

  /** The fields that failed validation; empty if the error is not about fields. */
  get violations(): Violation[] {
    const listed = this.details['errors'] ?? this.details['violations'];
    if (!Array.isArray(listed)) return [];
    return listed.filter(isViolation);
  }
}

/**
 * Returns true if the request was refused because the chosen space was deleted or the user is no longer a
 * member.
 */
export function isSpaceLost(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403 && error.details['what'] === 'space';
}

function isViolation(value: unknown): value is Violation {
  return typeof value === 'object' && value !== null && 'path' in value && 'message' in value;
}

const SPACE = 'haft.space';

/**
 * The id of the chosen space. Returns `null` if none was chosen; requests then use the user's personal space.
 */
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

/**
 * Clears the chosen space if the user is no longer a member of it, since every request there would be
 * refused.
 */
export function clearForeignSpace(own: readonly { id: string }[]): void {
  const chosen = chosenSpace();
  if (chosen !== null && own.every(({ id }) => id !== chosen)) chooseSpace(null);
}

/** The headers of every request. */
export function requestHeaders(): Record<string, string> {
  const space = chosenSpace();
  return { 'accept-language': languageNow(), ...(space === null ? {} : { 'haft-space': space }) };
}

const identity: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(requestHeaders())) request.headers.set(name, value);
    return request;
  },
};

export const api = createClient<paths>({ baseUrl: '', credentials: 'same-origin' });
api.use(identity);

interface ApiResponse<D> {
  data?: { data: D } | undefined;
  error?: unknown;
  response: Response;
}

/** Returns the `data` of a response, or throws the server's error as `ApiError`. */
export async function ask<D>(request: Promise<ApiResponse<D>>): Promise<D> {
  return (await askTagged(request)).data;
}

/** Like `ask`, also with the `ETag` of the response, for `If-Match`. */
export async function askTagged<D>(request: Promise<ApiResponse<D>>): Promise<{ data: D; tag: string | null }> {
  const { data, error, response } = await request;
  if (error !== undefined || data === undefined) throw failure(error, response);
  return { data: data.data, tag: response.headers.get('etag') };
}

function failure(body: unknown, response: Response): ApiError {
  const envelope = (typeof body === 'object' && body !== null ? body : {}) as Partial<Schemas['Error']>;
  const details = (envelope.error?.details ?? {}) as Record<string, unknown>;
  const message = envelope.message ?? `${response.status} ${response.statusText}`;
  return new ApiError(
    response.status,
    message,
    envelope.error?.kind,
    details,
    // A failure before the handler, such as a bad request line, has the id in a header only.
    envelope.error?.requestId ?? response.headers.get('x-request-id') ?? undefined,
    (envelope as { data?: unknown }).data,
  );
}

/** The message of any error, in the language of the console if the server cannot be reached. */
export function errorText(error: unknown): string {
  if (isUnreachable(error)) return unreachableText();
  return error instanceof Error ? error.message : String(error);
}
