// What the address says about which calls are shown, and how the server is asked for them.
import type { ErrorKind, Schemas } from '@/api/client';

export type Row = Schemas['ToolCallRow'];
export type Status = Row['status'];
export type Source = Row['source'];

/** As they stand in the address; `from` is a time, or how long ago: `1h`. */
export interface Filters {
  tool?: string | undefined;
  agent?: string | undefined;
  status?: string | undefined;
  kind?: string | undefined;
  source?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  q?: string | undefined;
}

export const NO_FILTERS = {
  tool: undefined, agent: undefined, status: undefined, kind: undefined, source: undefined, from: undefined, to: undefined, q: undefined,
} satisfies Filters;

export const STATUSES: readonly Status[] = ['success', 'failed', 'cancelled'];
export const SOURCES: readonly Source[] = ['api', 'chat', 'flow', 'mcp', 'cli', 'task', 'library'];

/** Kinds with which calls fail, those that people look for first. */
export const KINDS: readonly ErrorKind[] = [
  'Validation', 'Execution', 'Timeout', 'Network', 'Server', 'NotFound', 'Authentication', 'Permission', 'RateLimit', 'CircuitOpen',
  'ResponseTooLarge', 'ToolDisabled', 'Denied', 'Overloaded', 'BudgetExceeded', 'Unavailable', 'Internal', 'Unknown',
];

const MINUTE = 60_000;
export const AGES: Record<string, number> = {
  '15m': 15 * MINUTE, '1h': 60 * MINUTE, '6h': 360 * MINUTE, '24h': 1440 * MINUTE,
  '7d': 7 * 1440 * MINUTE, '30d': 30 * 1440 * MINUTE, '90d': 90 * 1440 * MINUTE,
};

export function isAge(from: string | undefined): from is string {
  return from !== undefined && Object.hasOwn(AGES, from);
}

/** The moment that `from` means now. */
export function beginning(from: string | undefined, now = Date.now()): string | undefined {
  const age = from === undefined ? undefined : AGES[from];
  return age === undefined ? from : new Date(now - age).toISOString();
}

/** One of the words that are known, else what was typed is left out. */
export function known<T extends string>(value: string | undefined, among: readonly T[]): T | undefined {
  return among.find((one) => one === value);
}

/** As `GET /api/tool-calls` takes them. */
export function asked(filters: Filters) {
  const query = {
    tool: filters.tool,
    agent: filters.agent,
    status: known(filters.status, STATUSES),
    kind: filters.kind,
    source: known(filters.source, SOURCES),
    from: beginning(filters.from),
    to: filters.to,
    text: filters.q,
  };
  // What is not asked for is not in the address either.
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) as typeof query;
}

/** Only what chooses calls: the address says more. */
export function onlyFilters(search: Filters): Filters {
  const { tool, agent, status, kind, source, from, to, q } = search;
  return { tool, agent, status, kind, source, from, to, q };
}
