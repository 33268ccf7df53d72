// What a definition names: variables that the model fills, and secrets that the server does.
import { configOf, type Definition } from './definition';
import { isFields, textOf } from './json';

export type Place = 'path' | 'query' | 'headers' | 'body' | 'auth';

export interface Named {
  name: string;
  places: readonly Place[];
}

export interface Variable extends Named {
  /** The call itself gives it. */
  isGiven: boolean;
}

export interface Secret extends Named {
  /** `secret://me/NAME`: the caller's own. */
  isOwn: boolean;
}

const VARIABLE = /\{\{\s*([A-Za-z_]\w*)(?:\.\w+)*\s*\}\}/g;
const SECRET = /secret:\/\/(me\/)?([\w.-]+)/g;
const GIVEN = ['callId', 'callbackUrl'];

/** Every text of a definition with the place it is sent in. */
function* textsOf(definition: Definition): Generator<[Place, string]> {
  const config = configOf(definition);
  const url = textOf(config['url']) || textOf(config['endpoint']);
  const [path, ...query] = url.split('?');
  yield ['path', path ?? ''];
  yield ['query', query.join('?')];
  const method = textOf(config['method']).toUpperCase();
  const params: Place = method === '' || method === 'GET' || method === 'HEAD' ? 'query' : 'body';
  yield* within(params, config['params']);
  yield* within('query', config['query']);
  yield* within('headers', config['headers']);
  yield* within('headers', config['cookies']);
  yield* within('body', config['body']);
  yield* within('auth', config['auth']);
}

function* within(place: Place, value: unknown): Generator<[Place, string]> {
  if (typeof value === 'string') yield [place, value];
  else if (Array.isArray(value)) for (const item of value as unknown[]) yield* within(place, item);
  else if (isFields(value)) for (const item of Object.values(value)) yield* within(place, item);
}

function found(definition: Definition, pattern: RegExp, nameOf: (match: RegExpMatchArray) => string): Named[] {
  const places = new Map<string, Place[]>();
  for (const [place, text] of textsOf(definition)) {
    for (const match of text.matchAll(pattern)) {
      const known = places.get(nameOf(match)) ?? [];
      places.set(nameOf(match), known.includes(place) ? known : [...known, place]);
    }
  }
  return [...places].map(([name, all]) => ({ name, places: all }));
}

/** In order of first appearance, as the schema has them. */
export function variablesOf(definition: Definition): Variable[] {
  const all = found(definition, VARIABLE, (match) => match[1] ?? '');
  return all.map((variable) => ({ ...variable, isGiven: GIVEN.includes(variable.name) }));
}

export function secretsOf(definition: Definition): Secret[] {
  const all = found(definition, SECRET, (match) => `${match[1] ?? ''}${match[2] ?? ''}`);
  return all.map(({ name, places }) => ({ name: name.replace(/^me\//, ''), places, isOwn: name.startsWith('me/') }));
}
