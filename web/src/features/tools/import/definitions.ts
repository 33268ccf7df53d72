// Haft's own definitions as files hold them: an export, a list of tools, or one tool.
import type { Schemas } from '@/api/client';

import type { ImportItem, ImportResult } from './run';

/** The lists of an export that the server imports, each with the kind of its entries. */
export const ITEM_KINDS = { tools: 'tool', agents: 'agent', providers: 'provider', alerts: 'alert' } as const;

type ListName = keyof typeof ITEM_KINDS;
const LISTS = Object.keys(ITEM_KINDS) as ListName[];

export interface Definitions {
  tools: Schemas['ToolInput'][];
  agents: Schemas['AgentInput'][];
  providers: Schemas['ProviderInput'][];
  alerts: Schemas['AlertInput'][];
  /** Names of secrets that the definitions use. */
  secrets: string[];
  /** Notes of the export about definitions that it left out. */
  notes: string[];
}

/** Definitions to send, and the key of each entry in the order of its list. */
export interface Picked {
  definitions: Definitions;
  keys: Record<ListName, string[]>;
}

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const textsOf = (value: unknown): string[] => listOf(value).filter((text) => typeof text === 'string');

/** Throws if the text is not JSON. The server checks the definitions. */
export function readDefinitions(text: string): Definitions {
  const read: unknown = JSON.parse(text);
  const isExport = isObject(read) && LISTS.some((list) => list in read);
  const given: Json = isExport ? read : { tools: Array.isArray(read) ? read : [read] };
  return {
    tools: listOf(given['tools']) as Definitions['tools'],
    agents: listOf(given['agents']) as Definitions['agents'],
    providers: listOf(given['providers']) as Definitions['providers'],
    alerts: listOf(given['alerts']) as Definitions['alerts'],
    secrets: textsOf(given['secrets']),
    notes: textsOf(given['notes']),
  };
}

/** Keeps the entries whose keys are in `only`; all if that is null. Names of alerts are optional, so keys are positions. */
export function pick(given: Definitions, only: ReadonlySet<string> | null): Picked {
  const keys: Picked['keys'] = { tools: [], agents: [], providers: [], alerts: [] };
  const filtered = <D>(list: ListName, entries: readonly D[]): D[] => entries.filter((_, at) => {
    const key = `${ITEM_KINDS[list]} ${at}`;
    const isPicked = only === null || only.has(key);
    if (isPicked) keys[list].push(key);
    return isPicked;
  });
  const definitions = {
    ...given,
    tools: filtered('tools', given.tools), agents: filtered('agents', given.agents),
    providers: filtered('providers', given.providers), alerts: filtered('alerts', given.alerts),
  };
  return { definitions, keys };
}

/** The server reports each list in the order in which its definitions were sent. */
export function foundIn({ definitions, keys }: Picked, report: Schemas['ImportDefinitionsReport']): ImportItem[] {
  return LISTS.flatMap((list) => report[list].map(({ name, change, changes }, at): ImportItem => ({
    key: keys[list][at] ?? `${ITEM_KINDS[list]} ${name}`, thing: ITEM_KINDS[list], method: null, path: null, name,
    description: descriptionOf(definitions[list][at]), change, changes: changes ?? [], definition: undefined, request: undefined, groups: [],
  })));
}

function descriptionOf(definition: object | undefined): string {
  const description = definition !== undefined && 'description' in definition ? definition.description : undefined;
  return typeof description === 'string' ? description : '';
}

/** Providers that only an admin of the space may import. */
export function skippedProviders(providers: Definitions['providers'], reason: string): ImportResult['skipped'] {
  return providers.map(({ name }) => ({ operation: name, reason }));
}
