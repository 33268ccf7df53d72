// The form's own idea of a tool, and the way to the definition and back. Only a part that was changed is written,
// so whatever the form does not know stays as it was.
import { type AnswerDraft, readAnswer, writeAnswer } from './answer';
import { type AuthDraft, readAuth, writeAuth } from './auth';
import { configOf, type Definition } from './definition';
import { type Fields, fieldsOf, isFields, parsed, same, spelled, textOf, withField } from './json';
import { type LaterDraft, readLater, writeLater } from './later';
import { type LimitsDraft, readLimits, writeLimits } from './limits';
import { isBodyWrong, readRequest, type RequestDraft, writeRequest } from './request';
import { fieldsFrom, type Row, rowsOf } from './rows';

export interface AboutDraft {
  name: string;
  /** One text, or one for each language. */
  title: string | { en: string; zh: string };
  description: string;
  category: string;
  isActive: boolean;
}

export interface SchemaDraft {
  /** Given, and not made from the variables. */
  isOwn: boolean;
  text: string;
}

export interface Draft {
  about: AboutDraft;
  request: RequestDraft;
  headers: { rows: readonly Row[] };
  auth: AuthDraft;
  schema: SchemaDraft;
  answer: AnswerDraft;
  later: LaterDraft;
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
  answer: { read: readAnswer, write: writeAnswer },
  // After what is sent, which may say by itself how the answer comes.
  later: { read: readLater, write: writeLater },
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
    answer: PARTS.answer.read(definition),
    later: PARTS.later.read(definition),
    limits: PARTS.limits.read(definition),
  };
}

/** The draft of what was saved, with the parts that were changed since that was sent. */
export function begunAnew(begun: Definition, draft: Draft, sent: Draft): Draft {
  return NAMES.reduce((next, name) => (draft[name] === sent[name] ? next : { ...next, [name]: draft[name] }), draftOf(begun));
}

/** The definition that the form now says, begun from the one it was opened with. */
export function definitionFrom(begun: Definition, draft: Draft): Definition {
  return NAMES.reduce((definition, name) => written(name, begun, definition, draft[name]), begun);
}

function written<K extends PartName>(name: K, begun: Definition, definition: Definition, value: Draft[K]): Definition {
  const part: Part<Draft[K]> = PARTS[name];
  return same(value, part.read(begun)) ? definition : part.write(definition, value);
}

/** What is wrong before anybody is asked: paths of texts that should be JSON. */
export function brokenJson(draft: Draft): string[] {
  const broken = isBodyWrong(draft.request) ? ['config.body'] : [];
  if (draft.schema.isOwn && !isFields(parsed(draft.schema.text)?.value)) broken.push('inputSchema');
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

/** A title without the languages that were left empty; undefined if nothing is left. */
function titleFrom(title: AboutDraft['title']): unknown {
  if (typeof title === 'string') return title === '' ? undefined : title;
  const given = Object.entries(title).filter(([, text]) => text !== '');
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

function readSchema(definition: Definition): SchemaDraft {
  const schema = definition['inputSchema'];
  return isFields(schema) ? { isOwn: true, text: spelled(schema) } : { isOwn: false, text: '' };
}

function writeSchema(definition: Definition, { isOwn, text }: SchemaDraft): Definition {
  if (!isOwn) return withField(definition, 'inputSchema', undefined);
  const schema = parsed(text)?.value;
  return isFields(schema) ? { ...definition, inputSchema: schema } : definition;
}
