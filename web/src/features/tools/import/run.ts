// Runs an import or its dry run on the server. All kinds of sources have the same result type.
import { api, ask, type Schemas } from '@/api/client';
import { languageNow } from '@/i18n/language';

import { foundIn, skippedProviders, pick, readDefinitions, type ITEM_KINDS } from './definitions';
import { firstSegment, tagsIn } from './groups';
import { type Source, withoutResponses } from './sources';
import { TEXTS } from './texts';

type Report = Schemas['ImportReport'];

export interface ImportItem {
  /** Identifies the item in `only`. */
  key: string;
  thing: (typeof ITEM_KINDS)[keyof typeof ITEM_KINDS];
  method: string | null;
  path: string | null;
  name: string;
  description: string;
  change: Schemas['DefinitionChange']['change'];
  changes: readonly Schemas['Difference'][];
  /** For tools in a preview: the definition that will be saved. */
  definition: object | undefined;
  /** For tools in a preview: the request of a call with example arguments, as a cURL command. */
  request: string | undefined;
  groups: readonly string[];
}

export interface ImportResult extends Pick<Report, 'skipped' | 'notes' | 'secrets' | 'removed'> {
  found: ImportItem[];
  /** The `secrets` whose value is not part of the source. */
  missing: readonly string[];
}

export interface Options {
  /** The prefix of tool names. */
  name: string;
  baseUrl: string;
}

export interface ImportRequest {
  source: Source;
  options: Options;
  /** The keys of the items to import; null imports all. */
  only: ReadonlySet<string> | null;
  isDry: boolean;
  /** Only admins of the space may import model providers. */
  isAdmin: boolean;
}

export function runImport(request: ImportRequest): Promise<ImportResult> {
  return request.source.kind === 'haft' ? importDefinitions(request) : importOperations(request);
}

async function importOperations(request: ImportRequest): Promise<ImportResult> {
  const { tools, ...rest } = await reportOf(request);
  const { kind, text } = request.source;
  const tags = kind === 'openapi' ? tagsIn(text) : new Map<string, string[]>();
  const found = tools.map(({ method, path, name, description, change, changes, definition, request }): ImportItem => {
    const key = `${method} ${path}`;
    const groups = tags.size > 0 ? (tags.get(key) ?? []) : [firstSegment(path)];
    return { key, thing: 'tool', method, path, name, description, change, changes: changes ?? [], definition, request, groups };
  });
  return { ...rest, found, missing: [] };
}

function reportOf({ source, options, only, isDry }: ImportRequest): Promise<Report> {
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
      return ask(api.POST('/api/tools/import/har', { body: { ...based, document: withoutResponses(text) } }));
    default:
      return ask(api.POST('/api/tools/import/openapi', { body: { ...based, ...(text === '' ? { url } : { spec: text }) } }));
  }
}

async function importDefinitions({ source, only, isDry, isAdmin }: ImportRequest): Promise<ImportResult> {
  const t = TEXTS[languageNow()];
  const given = readDefinitions(source.text);
  const picked = pick(isAdmin ? given : { ...given, providers: [] }, only);
  const { notes, ...definitions } = picked.definitions;
  const report = await ask(api.POST('/api/tools/import', { body: { ...definitions, dryRun: isDry, prune: false, force: false } }));
  return {
    found: foundIn(picked, report),
    skipped: isAdmin ? [] : skippedProviders(given.providers, t.forAdmins),
    notes: [...notes, ...report.missingWebhooks.map(t.noWebhook)],
    secrets: report.missingSecrets, missing: report.missingSecrets, removed: [],
  };
}
