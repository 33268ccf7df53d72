// The draft of a tool in the form, from and to its definition. Only changed parts are written,
// so settings that the form does not show are preserved.
import { type ResponseDraft, readResponse, writeResponse } from './response';
import { type AuthDraft, readAuth, writeAuth } from './auth';
import { configOf, type Definition } from './definition';
import { type Fields, fieldsOf, isFields, parseJson, same, formatJson, textOf, withField } from './json';
import { type DeferredDraft, readDeferred, writeDeferred } from './deferred';
import { type LimitsDraft, readLimits, writeLimits } from './limits';
import { isBodyWrong, readRequest, type RequestDraft, writeRequest } from './request';
import { fieldsFrom, type Row, rowsOf } from './rows';

export interface AboutDraft {
  name: string;
  /** One text, or a text per language. */
  title: string | { en: string; zh: string };
  description: string;
  category: string;
  isActive: boolean;
}

export interface SchemaDraft {
  /** Written by the user, not generated from the variables. */
  isOwn: boolean;
  text: string;
}

export interface Draft {
  about: AboutDraft;
  request: RequestDraft;
  headers: { rows: readonly Row[] };
  auth: AuthDraft;
  schema: SchemaDraft;
  response: ResponseDraft;
  deferred: DeferredDraft;
  limits: LimitsDraft;
}

export type PartName = keyof Draft;

interface Part<T> {
  read: (definition: Definition) => T;
  write: (definition: Definition, value: T) => Definition;
}

const PARTS: { [K in PartName]: Part<Draft[K]> } = {
  about: { read: readAbout, write: writeAbout },
  request: { read: readRequest, write: writeRequest },
  headers: {
    read: (definition) => ({ rows: rowsOf(configOf(definition)['headers']) }),
    write: (definition, { rows }) => ({ ...definition, config: withField(configOf(definition), 'headers', fieldsFrom(rows)) }),
  },
  auth: { read: readAuth, write: writeAuth },
  schema: { read: readSchema, write: writeSchema },
  response: { read: readResponse, write: writeResponse },
  // After the request, whose `{{callbackUrl}}` may imply the result mode.
  deferred: { read: readDeferred, write: writeDeferred },
  limits: { read: readLimits, write: writeLimits },
};

const NAMES = Object.keys(PARTS) as PartName[];

export function draftOf(definition: Definition): Draft {
  return {
    about: PARTS.about.read(definition),
    request: PARTS.request.read(definition),
    headers: PARTS.headers.read(definition),
    auth: PARTS.auth.read(definition),
    schema: PARTS.schema.read(definition),
    response: PARTS.response.read(definition),
    deferred: PARTS.deferred.read(definition),
    limits: PARTS.limits.read(definition),
  };
}

/** Rebases the draft on the saved definition. Parts changed since the save request are kept. */
export function rebaseDraft(initial: Definition, draft: Draft, sent: Draft): Draft {
  return NAMES.reduce((next, name) => (draft[name] === sent[name] ? next : { ...next, [name]: draft[name] }), draftOf(initial));
}

/** Applies the changed parts of the draft to the initial definition. */
export function definitionFrom(initial: Definition, draft: Draft): Definition {
  return NAMES.reduce((definition, name) => writePart(name, initial, definition, draft[name]), initial);
}

function writePart<K extends PartName>(name: K, initial: Definition, definition: Definition, value: Draft[K]): Definition {
  const part: Part<Draft[K]> = PARTS[name];
  return same(value, part.read(initial)) ? definition : part.write(definition, value);
}

/** Returns the paths of fields whose text is not valid JSON. */
export function brokenJson(draft: Draft): string[] {
  const broken = isBodyWrong(draft.request) ? ['config.body'] : [];
  if (draft.schema.isOwn && !isFields(parseJson(draft.schema.text)?.value)) broken.push('inputSchema');
  return broken;
}

function readAbout(definition: Definition): AboutDraft {
  const title = definition['title'];
  const both = fieldsOf(title);
  return {
    name: textOf(definition['name']),
    title: isFields(title) ? { en: textOf(both['en']), zh: textOf(both['zh']) } : textOf(title),
    description: textOf(definition['description']),
    category: textOf(definition['category']),
    isActive: definition['isActive'] !== false,
  };
}

function writeAbout(definition: Definition, about: AboutDraft): Definition {
  const before = readAbout(definition);
  let next: Fields = { ...definition, name: about.name, description: about.description };
  if (!same(about.title, before.title)) next = withField(next, 'title', titleFrom(about.title));
  if (about.category !== before.category) next = withField(next, 'category', about.category === '' ? undefined : about.category);
  if (about.isActive !== before.isActive) next = withField(next, 'isActive', about.isActive);
  return next;
}

/** Removes languages with an empty title. Returns `undefined` if none is left. */
function titleFrom(title: AboutDraft['title']): unknown {
  if (typeof title === 'string') return title === '' ? undefined : title;
  const given = Object.entries(title).filter(([, text]) => text !== '');
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

function readSchema(definition: Definition): SchemaDraft {
  const schema = definition['inputSchema'];
  return isFields(schema) ? { isOwn: true, text: formatJson(schema) } : { isOwn: false, text: '' };
}

function writeSchema(definition: Definition, { isOwn, text }: SchemaDraft): Definition {
  if (!isOwn) return withField(definition, 'inputSchema', undefined);
  const schema = parseJson(text)?.value;
  return isFields(schema) ? { ...definition, inputSchema: schema } : definition;
}
