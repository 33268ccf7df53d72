// The filters of the call log in the address, and as parameters of the API.
import type { ErrorKind, Schemas } from '@/api/client';

export type Row = Schemas['ToolCallRow'];
export type Status = Row['status'];
export type Source = Row['source'];

/** The search parameters of the page; `from` is a time, or a duration before now such as `1h`. */
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

/** The error kinds in the filter, the most often filtered first. */
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

/** The time that `from` means now. */
export function startTime(from: string | undefined, now = Date.now()): string | undefined {
  const age = from === undefined ? undefined : AGES[from];
  return age === undefined ? from : new Date(now - age).toISOString();
}

/** Returns `value` if it is among the known ones, else `undefined`. */
export function valueAmong<T extends string>(value: string | undefined, among: readonly T[]): T | undefined {
  return among.find((one) => one === value);
}

/** The parameters of `GET /api/tool-calls`. */
export function queryOf(filters: Filters) {
  const query = {
    tool: filters.tool,
    agent: filters.agent,
    status: valueAmong(filters.status, STATUSES),
    kind: filters.kind,
    source: valueAmong(filters.source, SOURCES),
    from: startTime(filters.from),
    to: filters.to,
    text: filters.q,
  };
  // Parameters that are not set are left out of the address.
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) as typeof query;
}

/** The filters among the search parameters. */
export function onlyFilters(search: Filters): Filters {
  const { tool, agent, status, kind, source, from, to, q } = search;
  return { tool, agent, status, kind, source, from, to, q };
}
