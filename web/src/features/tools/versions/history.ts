// The versions of a tool, with author and changed fields from the audit log.
import { infiniteQueryOptions } from '@tanstack/react-query';

import { api, ask, type Schemas } from '@/api/client';

type VersionInfo = Schemas['VersionInfo'];

export interface Version extends VersionInfo {
  /** The name of the author; null if unknown. */
  by: string | null;
  /** Fields that differ from the version before. */
  changed: string[];
  /** The version that this one restored. */
  backTo: number | null;
}

const PAGE = 50;
/** Maximum delay between a version and its audit entry, in milliseconds. */
const MAX_AUDIT_DELAY = 5000;

export const historyQuery = (tool: string) =>
  infiniteQueryOptions({
    queryKey: ['tools', tool, 'versions'],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => readPage(tool, pageParam),
    getNextPageParam: (page) => page.next,
  });

async function readPage(tool: string, cursor: string | null): Promise<{ items: Version[]; next: string | null }> {
  const query = { limit: PAGE, ...(cursor === null ? {} : { cursor }) };
  const { items, nextCursor } = await ask(api.GET('/api/tools/{id}/versions', { params: { path: { id: tool }, query } }));
  const changes = await changesOf(tool, items);
  return { items: items.map((item) => ({ ...item, ...changeDetails(changes.get(item.version)) })), next: nextCursor };
}

/** Returns the audit entry that created each version, by version number. */
async function changesOf(tool: string, versions: VersionInfo[]): Promise<Map<number, Schemas['Change']>> {
  const [newest, oldest] = [versions[0], versions.at(-1)];
  if (newest === undefined || oldest === undefined) return new Map();
  const at = (time: string, more: number) => new Date(Date.parse(time) + more).toISOString();
  const query = {
    what: 'tool' as const, id: tool, from: at(oldest.createdAt, -MAX_AUDIT_DELAY), to: at(newest.createdAt, MAX_AUDIT_DELAY), limit: 4 * PAGE,
  };
  const { items } = await ask(api.GET('/api/changes', { params: { query } }));
  const making = items.filter(({ action }) => action !== 'approved' && action !== 'deleted');
  return new Map(making.flatMap((change) => (change.version === null ? [] : [[change.version, change]])));
}

function changeDetails(change: Schemas['Change'] | undefined): Pick<Version, 'by' | 'changed' | 'backTo'> {
  const details: Record<string, unknown> = change?.details ?? {};
  const { changed, backTo } = details;
  return {
    by: change?.userName ?? null,
    changed: Array.isArray(changed) ? changed.filter((name) => typeof name === 'string') : [],
    backTo: typeof backTo === 'number' ? backTo : null,
  };
}
