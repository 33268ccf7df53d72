// Asks the server to import, or what an import would do; every kind of source gives the same outcome.
import { api, ask, type Schemas } from '@/api/client';
import { languageNow } from '@/i18n/language';

import { foundIn, leftOut, pick, readDefinitions, type THINGS } from './definitions';
import { beginningOf, tagsIn } from './groups';
import { type Source, withoutAnswers } from './sources';
import { WORDS } from './words';

type Difference = Schemas['Difference'];
type Report = Schemas['ImportReport'];

export interface Found {
  /** What `only` calls it. */
  key: string;
  thing: (typeof THINGS)[keyof typeof THINGS];
  method: string | null;
  path: string | null;
  name: string;
  description: string;
  change: Schemas['DefinitionChange']['change'];
  changes: readonly Difference[];
  /** Of a tool in a preview: what would be stored. */
  definition: object | undefined;
  /** Of a tool in a preview: the request of a call with example arguments, as a cURL command. */
  request: string | undefined;
  groups: readonly string[];
}

export interface Outcome extends Pick<Report, 'skipped' | 'notes' | 'secrets' | 'removed'> {
  found: Found[];
  /** Secrets among `secrets` that the source uses and does not bring along. */
  missing: readonly string[];
}

export interface Options {
  /** What names begin with. */
  name: string;
  baseUrl: string;
}

export interface Run {
  source: Source;
  options: Options;
  /** What to take; null for all. */
  only: ReadonlySet<string> | null;
  isDry: boolean;
  /** Only admins of the space may import model providers. */
  isAdmin: boolean;
}

export function run(asked: Run): Promise<Outcome> {
  return asked.source.kind === 'haft' ? runDefinitions(asked) : runReport(asked);
}

async function runReport(asked: Run): Promise<Outcome> {
  const { tools, ...rest } = await reportOf(asked);
  const { kind, text } = asked.source;
  const tags = kind === 'openapi' ? tagsIn(text) : new Map<string, string[]>();
  const found = tools.map(({ method, path, name, description, change, changes, definition, request }): Found => {
    const key = `${method} ${path}`;
    const groups = tags.size > 0 ? (tags.get(key) ?? []) : [beginningOf(path)];
    return { key, thing: 'tool', method, path, name, description, change, changes: changes ?? [], definition, request, groups };
  });
  return { ...rest, found, missing: [] };
}

function reportOf({ source, options, only, isDry }: Run): Promise<Report> {
  const { kind, text, url } = source;
  const given = {
    ...(options.name === '' ? {} : { name: options.name }),
    ...(only === null ? {} : { only: [...only] }),
    dryRun: isDry,
  };
  const based = { ...given, ...(options.baseUrl === '' ? {} : { baseUrl: options.baseUrl }) };
  switch (kind) {
    case 'curl':
      return ask(api.POST('/api/tools/import/curl', { body: { ...given, command: text } }));
    case 'postman':
      return ask(api.POST('/api/tools/import/postman', { body: { ...based, document: text } }));
    case 'har':
      return ask(api.POST('/api/tools/import/har', { body: { ...based, document: withoutAnswers(text) } }));
    default:
      return ask(api.POST('/api/tools/import/openapi', { body: { ...based, ...(text === '' ? { url } : { spec: text }) } }));
  }
}

async function runDefinitions({ source, only, isDry, isAdmin }: Run): Promise<Outcome> {
  const t = WORDS[languageNow()];
  const given = readDefinitions(source.text);
  const picked = pick(isAdmin ? given : { ...given, providers: [] }, only);
  const { notes, ...definitions } = picked.definitions;
  const report = await ask(api.POST('/api/tools/import', { body: { ...definitions, dryRun: isDry, prune: false, force: false } }));
  return {
    found: foundIn(picked, report),
    skipped: isAdmin ? [] : leftOut(given.providers, t.forAdmins),
    notes: [...notes, ...report.missingWebhooks.map(t.noWebhook)],
    secrets: report.missingSecrets, missing: report.missingSecrets, removed: [],
  };
}
