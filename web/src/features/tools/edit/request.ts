// The request of an HTTP tool (method, URL, query, body), from and to the definition.
import { configOf, type Definition } from './definition';
import { type Fields, isFields, parseJson, formatJson, textOf, withField, without } from './json';
import { fieldsFrom, type Row, rowsOf } from './rows';

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const;
export const BODY_TYPES = ['json', 'form', 'multipart', 'text', 'binary'] as const;

export interface RequestDraft {
  method: string;
  baseUrl: string;
  url: string;
  query: readonly Row[];
  bodyType: string;
  /** The body as JSON or plain text, depending on `bodyType`. */
  bodyText: string;
  /** The body is a JSON value although its type is text or binary, such as `{"base64"}`. */
  isBodyJson: boolean;
  /** The fields of a form body. */
  bodyRows: readonly Row[];
}

/** Returns true for methods whose `params` are the query. For others they are the body. */
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

/** Reads a body, which may be `undefined`, into the form fields of its type. */
export function readBody(bodyType: string, body: unknown): Body {
  const empty = { bodyType, bodyText: '', isBodyJson: false, bodyRows: [] };
  if (body === undefined) return empty;
  if (hasRows(bodyType) && isFields(body)) return { ...empty, bodyRows: rowsOf(body) };
  if (bodyType === 'json') return { ...empty, bodyText: formatJson(body) };
  return typeof body === 'string' ? { ...empty, bodyText: body } : { ...empty, bodyText: formatJson(body), isBodyJson: true };
}

/** Returns the body from the form fields. Text that is not valid JSON stays text. */
export function bodyOf(request: Body): unknown {
  if (hasRows(request.bodyType) && request.bodyRows.length > 0) return fieldsFrom(request.bodyRows);
  if (request.bodyText.trim() === '') return undefined;
  if (request.bodyType !== 'json' && !request.isBodyJson) return request.bodyText;
  const json = parseJson(request.bodyText);
  return json === undefined ? request.bodyText : json.value;
}

/** Converts the body to another type. */
export function asBodyType(request: RequestDraft, bodyType: string): RequestDraft {
  const body = bodyOf(request);
  const text = hasRows(bodyType) || bodyType === 'json' || typeof body === 'string' ? body : textOrUndefined(body);
  return { ...request, ...readBody(bodyType, text) };
}

function textOrUndefined(body: unknown): string | undefined {
  return body === undefined ? undefined : formatJson(body);
}

export function isBodyWrong(request: RequestDraft): boolean {
  const isJson = request.bodyType === 'json' || request.isBodyJson;
  return isJson && !hasRows(request.bodyType) && request.bodyText.trim() !== '' && parseJson(request.bodyText) === undefined;
}

/** Writes the request. Keeps `params` if the definition used it and the method gives it the same meaning. */
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
  // Defaults are written only if the definition had them.
  const isMethodWritten = request.method !== 'GET' || 'method' in before;
  config = withField(config, 'method', isMethodWritten ? request.method : undefined);
  const isTypeWritten = request.bodyType !== 'json' || 'bodyType' in before;
  config = withField(config, 'bodyType', isTypeWritten ? request.bodyType : undefined);
  config = withField(config, queryName, fieldsFrom(request.query));
  config = withField(config, bodyName, bodyOf(request));
  return { ...definition, config };
}
