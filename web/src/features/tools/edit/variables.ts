// Finds the variables and secrets that a definition uses.
import { configOf, type Definition } from './definition';
import { isFields, textOf } from './json';

export type RequestLocation = 'path' | 'query' | 'headers' | 'body' | 'auth';

export interface Named {
  name: string;
  locations: readonly RequestLocation[];
}

export interface Variable extends Named {
  /** Haft sets it for each call. */
  isCallVariable: boolean;
}

export interface Secret extends Named {
  /** `secret://me/NAME`: a secret of the caller. */
  isOwn: boolean;
}

const VARIABLE = /\{\{\s*([A-Za-z_]\w*)(?:\.\w+)*\s*\}\}/g;
const SECRET = /secret:\/\/(me\/)?([\w.-]+)/g;
const CALL_VARIABLES = ['callId', 'callbackUrl'];

/** Yields every text of a definition with the part of the request in which it is sent. */
function* textsOf(definition: Definition): Generator<[RequestLocation, string]> {
  const config = configOf(definition);
  const url = textOf(config['url']) || textOf(config['endpoint']);
  const [path, ...query] = url.split('?');
  yield ['path', path ?? ''];
  yield ['query', query.join('?')];
  const method = textOf(config['method']).toUpperCase();
  const params: RequestLocation = method === '' || method === 'GET' || method === 'HEAD' ? 'query' : 'body';
  yield* within(params, config['params']);
  yield* within('query', config['query']);
  yield* within('headers', config['headers']);
  yield* within('headers', config['cookies']);
  yield* within('body', config['body']);
  yield* within('auth', config['auth']);
}

function* within(location: RequestLocation, value: unknown): Generator<[RequestLocation, string]> {
  if (typeof value === 'string') yield [location, value];
  else if (Array.isArray(value)) for (const item of value as unknown[]) yield* within(location, item);
  else if (isFields(value)) for (const item of Object.values(value)) yield* within(location, item);
}

function found(definition: Definition, pattern: RegExp, nameOf: (match: RegExpMatchArray) => string): Named[] {
  const locations = new Map<string, RequestLocation[]>();
  for (const [location, text] of textsOf(definition)) {
    for (const match of text.matchAll(pattern)) {
      const previous = locations.get(nameOf(match)) ?? [];
      locations.set(nameOf(match), previous.includes(location) ? previous : [...previous, location]);
    }
  }
  return [...locations].map(([name, all]) => ({ name, locations: all }));
}

/** Returns the variables in order of first appearance, which is also their order in the schema. */
export function variablesOf(definition: Definition): Variable[] {
  const all = found(definition, VARIABLE, (match) => match[1] ?? '');
  return all.map((variable) => ({ ...variable, isCallVariable: CALL_VARIABLES.includes(variable.name) }));
}

export function secretsOf(definition: Definition): Secret[] {
  const all = found(definition, SECRET, (match) => `${match[1] ?? ''}${match[2] ?? ''}`);
  return all.map(({ name, locations }) => ({ name: name.replace(/^me\//, ''), locations, isOwn: name.startsWith('me/') }));
}
