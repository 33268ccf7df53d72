// The request of an HTTP tool as the form has it: method, address, query and body.
import { configOf, type Definition } from './definition';
import { type Fields, isFields, parsed, spelled, textOf, withField, without } from './json';
import { fieldsFrom, type Row, rowsOf } from './rows';

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const;
export const BODY_TYPES = ['json', 'form', 'multipart', 'text', 'binary'] as const;

export interface RequestDraft {
  method: string;
  baseUrl: string;
  url: string;
  query: readonly Row[];
  bodyType: string;
  /** The body as text: JSON, or as it is sent. */
  bodyText: string;
  /** A body that is sent as text, but is not one in the definition: `{"base64"}`. */
  isBodyJson: boolean;
  /** The body of a form, field by field. */
  bodyRows: readonly Row[];
}

/** `params` of these is the query; of the others it is the body. */
export function isBodyless(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

export function hasRows(bodyType: string): boolean {
  return bodyType === 'form' || bodyType === 'multipart';
}

export function readRequest(definition: Definition): RequestDraft {
  const config = configOf(definition);
  const method = (textOf(config['method']) || 'GET').toUpperCase();
  const [paramsAsQuery, paramsAsBody] = isBodyless(method) ? [config['params'], undefined] : [undefined, config['params']];
  return {
    method,
    baseUrl: textOf(config['baseUrl']),
    url: textOf(config['url']) || textOf(config['endpoint']),
    query: rowsOf(config['query'] ?? paramsAsQuery),
    ...readBody(textOf(config['bodyType']) || 'json', config['body'] ?? paramsAsBody ?? undefined),
  };
}

type Body = Pick<RequestDraft, 'bodyType' | 'bodyText' | 'isBodyJson' | 'bodyRows'>;

/** A body, which may be absent, in the form of its type. */
export function readBody(bodyType: string, body: unknown): Body {
  const empty = { bodyType, bodyText: '', isBodyJson: false, bodyRows: [] };
  if (body === undefined) return empty;
  if (hasRows(bodyType) && isFields(body)) return { ...empty, bodyRows: rowsOf(body) };
  if (bodyType === 'json') return { ...empty, bodyText: spelled(body) };
  return typeof body === 'string' ? { ...empty, bodyText: body } : { ...empty, bodyText: spelled(body), isBodyJson: true };
}

/** The body that the form says; text that should be JSON and is not stays text. */
export function bodyOf(request: Body): unknown {
  if (hasRows(request.bodyType) && request.bodyRows.length > 0) return fieldsFrom(request.bodyRows);
  if (request.bodyText.trim() === '') return undefined;
  if (request.bodyType !== 'json' && !request.isBodyJson) return request.bodyText;
  const json = parsed(request.bodyText);
  return json === undefined ? request.bodyText : json.value;
}

/** The same body as another type has it. */
export function asBodyType(request: RequestDraft, bodyType: string): RequestDraft {
  const body = bodyOf(request);
  const text = hasRows(bodyType) || bodyType === 'json' || typeof body === 'string' ? body : textOrNothing(body);
  return { ...request, ...readBody(bodyType, text) };
}

function textOrNothing(body: unknown): string | undefined {
  return body === undefined ? undefined : spelled(body);
}

export function isBodyWrong(request: RequestDraft): boolean {
  const isJson = request.bodyType === 'json' || request.isBodyJson;
  return isJson && !hasRows(request.bodyType) && request.bodyText.trim() !== '' && parsed(request.bodyText) === undefined;
}

/** What the definition said with `params` it goes on saying so, as long as that means the same. */
export function writeRequest(definition: Definition, request: RequestDraft): Definition {
  const before = configOf(definition);
  const wasBodyless = isBodyless(readRequest(definition).method);
  const hadParams = before['params'] !== undefined && before['params'] !== null;
  const isLess = isBodyless(request.method);
  const queryName = hadParams && wasBodyless && isLess ? 'params' : 'query';
  const bodyName = hadParams && !wasBodyless && !isLess ? 'params' : 'body';
  let config: Fields = without(before, 'params', 'query', 'body', 'endpoint');
  config = withField(config, 'baseUrl', request.baseUrl === '' ? undefined : request.baseUrl);
  config = withField(config, 'url', request.url === '' ? undefined : request.url);
  // What goes without saying is not said of a tool that did without.
  const isMethodSaid = request.method !== 'GET' || 'method' in before;
  config = withField(config, 'method', isMethodSaid ? request.method : undefined);
  const isTypeSaid = request.bodyType !== 'json' || 'bodyType' in before;
  config = withField(config, 'bodyType', isTypeSaid ? request.bodyType : undefined);
  config = withField(config, queryName, fieldsFrom(request.query));
  config = withField(config, bodyName, bodyOf(request));
  return { ...definition, config };
}
