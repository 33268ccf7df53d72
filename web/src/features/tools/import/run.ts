// Asks the server to import, or what an import would do; every kind of source gives the same outcome.
import { api, ask, type Schemas } from '@/api/client';

import { readDefinitions } from './definitions';
import { beginningOf, tagsIn } from './groups';
import { type Source, withoutAnswers } from './sources';

type Difference = Schemas['Difference'];
type Report = Schemas['ImportReport'];

export interface Found {
  /** What `only` calls it. */
  key: string;
  thing: 'tool' | 'agent';
  method: string | null;
  path: string | null;
  name: string;
  description: string;
  change: Schemas['DefinitionChange']['change'];
  changes: readonly Difference[];
  groups: readonly string[];
}

export type Outcome = Pick<Report, 'skipped' | 'notes' | 'secrets' | 'removed'> & { found: Found[] };

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
}

export function run(asked: Run): Promise<Outcome> {
  return asked.source.kind === 'haft' ? runDefinitions(asked) : runReport(asked);
}

async function runReport(asked: Run): Promise<Outcome> {
  const { tools, ...rest } = await reportOf(asked);
  const { kind, text } = asked.source;
  const tags = kind === 'openapi' ? tagsIn(text) : new Map<string, string[]>();
  const found = tools.map(({ method, path, name, description, change, changes }): Found => {
    const key = `${method} ${path}`;
    const groups = tags.size > 0 ? (tags.get(key) ?? []) : [beginningOf(path)];
    return { key, thing: 'tool', method, path, name, description, change, changes: changes ?? [], groups };
  });
  return { ...rest, found };
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

async function runDefinitions({ source, only, isDry }: Run): Promise<Outcome> {
  const given = readDefinitions(source.text);
  const isWanted = (thing: Found['thing']) => ({ name }: { name: string }) => only === null || only.has(keyOf(thing, name));
  const [tools, agents] = [given.tools.filter(isWanted('tool')), given.agents.filter(isWanted('agent'))];
  const body = { tools, agents, dryRun: isDry, prune: false, force: false };
  const report = await ask(api.POST('/api/tools/import', { body }));
  const words = new Map([...tools, ...agents].map(({ name, description }) => [name, description ?? '']));
  const found = (thing: Found['thing']) => ({ name, change, changes }: Schemas['DefinitionChange']): Found => ({
    key: keyOf(thing, name), thing, method: null, path: null, name, description: words.get(name) ?? '', change, changes: changes ?? [], groups: [],
  });
  return {
    found: [...report.tools.map(found('tool')), ...report.agents.map(found('agent'))],
    skipped: [], notes: [], secrets: [], removed: [],
  };
}

const keyOf = (thing: Found['thing'], name: string): string => `${thing} ${name}`;
