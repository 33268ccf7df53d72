// The preview of the request: variables as placeholders, credentials masked.
import { readAuth } from './auth';
import { configOf, type Definition } from './definition';
import { fieldsOf, isFields, textOf } from './json';
import { bodyOf, isBodyless, readRequest, type RequestDraft } from './request';
import { variablesOf } from './variables';

export interface Preview {
  method: string;
  url: string;
  headers: readonly [string, string][];
  body: string | undefined;
}

export const MASK = '••••••••';

const SENSITIVE = /auth|token|key|secret|cookie|password/i;
const TYPES: Record<string, string> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data',
  text: 'text/plain',
  binary: 'application/octet-stream',
};

/** Builds the preview. `schema` is the schema of the arguments; unused ones are sent too. */
export function previewOf(definition: Definition, schema: unknown): Preview {
  const request = readRequest(definition);
  const unused = unusedArguments(definition, schema);
  const goesToQuery = isBodyless(request.method) || request.method === 'DELETE';
  const auth = authParts(definition);
  const query = [...pairs(fieldsOf(queryOf(definition))), ...(goesToQuery ? unused : []), ...auth.query];
  const headers = [...headersOf(definition), ...auth.headers];
  const body = bodyText(request, goesToQuery ? [] : unused);
  const isTyped = headers.some(([name]) => name.toLowerCase() === 'content-type');
  if (body !== undefined && !isTyped) headers.push(['Content-Type', TYPES[request.bodyType] ?? request.bodyType]);
  return { method: request.method, url: addressOf(request, query), headers, body };
}

function addressOf(request: RequestDraft, query: readonly [string, string][]): string {
  const isUnder = request.url === '' || request.url.startsWith('/');
  const url = isUnder ? request.baseUrl.replace(/\/$/, '') + request.url : request.url;
  if (query.length === 0) return url;
  return url + (url.includes('?') ? '&' : '?') + query.map(([name, value]) => `${name}=${value}`).join('&');
}

function queryOf(definition: Definition): unknown {
  const config = configOf(definition);
  return config['query'] ?? (isBodyless(readRequest(definition).method) ? config['params'] : undefined);
}

function pairs(fields: Readonly<Record<string, unknown>>): [string, string][] {
  return Object.entries(fields).flatMap(([name, value]): [string, string][] => {
    if (value === null) return [];
    if (Array.isArray(value)) return value.map((item): [string, string] => [name, asText(item)]);
    return [[name, asText(value)]];
  });
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function headersOf(definition: Definition): [string, string][] {
  return pairs(fieldsOf(configOf(definition)['headers'])).map(([name, value]) => [name, SENSITIVE.test(name) ? hidden(value) : value]);
}

/** Masks a value, except for references to secrets and variables. */
function hidden(value: string): string {
  if (value === '' || value.includes('secret://') || value.includes('{{')) return value;
  return /^(Bearer|Basic|Token)\s/i.exec(value) === null ? MASK : `${value.split(/\s/)[0] ?? ''} ${MASK}`;
}

function authParts(definition: Definition): { headers: [string, string][]; query: [string, string][] } {
  const { type, fields } = readAuth(definition);
  const none = { headers: [], query: [] };
  if (type === 'bearer') return { ...none, headers: [['Authorization', `Bearer ${hidden(fields.token ?? '')}`]] };
  if (type === 'basic') return { ...none, headers: [['Authorization', `Basic ${MASK}`]] };
  if (type === 'oauth2ClientCredentials') return { ...none, headers: [['Authorization', `Bearer ${MASK}`]] };
  if (type !== 'apiKey' || (fields.name ?? '') === '') return none;
  const pair: [string, string] = [fields.name ?? '', hidden(fields.value ?? '')];
  return fields.in === 'query' ? { ...none, query: [pair] } : { ...none, headers: [pair] };
}

/** Returns the arguments that are sent automatically: without params, query and body, all that the URL and headers do not use. */
function unusedArguments(definition: Definition, schema: unknown): [string, string][] {
  const config = configOf(definition);
  const isGeneric = textOf(config['url']) === '' && textOf(config['endpoint']) === '';
  if (isGeneric || ['params', 'query', 'body'].some((name) => config[name] !== undefined && config[name] !== null)) return [];
  const used = variablesOf(definition).map((variable) => variable.name);
  const names = Object.keys(fieldsOf(fieldsOf(schema)['properties']));
  return names.filter((name) => !used.includes(name)).map((name) => [name, `{{${name}}}`]);
}

function bodyText(request: RequestDraft, unused: readonly [string, string][]): string | undefined {
  const body = bodyOf(request) ?? (unused.length === 0 ? undefined : Object.fromEntries(unused));
  if (body === undefined) return undefined;
  if (request.bodyType === 'form' && isFields(body)) return pairs(body).map(([name, value]) => `${name}=${value}`).join('&');
  if (request.bodyType === 'multipart' && isFields(body)) return pairs(body).map(([name, value]) => `${name}: ${value}`).join('\n');
  return typeof body === 'string' && request.bodyType !== 'json' ? body : JSON.stringify(body, null, 2);
}

export interface Piece {
  text: string;
  kind: 'text' | 'variable' | 'secret';
}

/** Splits a text into plain text, variables and secrets. */
export function piecesOf(text: string): Piece[] {
  return text.split(/(\{\{[^}]*\}\}|secret:\/\/[\w./-]+|•+)/).filter((part) => part !== '').map((part) => {
    if (part.startsWith('{{')) return { text: part, kind: 'variable' };
    return { text: part, kind: part.startsWith('secret://') || part.startsWith('•') ? 'secret' : 'text' };
  });
}
