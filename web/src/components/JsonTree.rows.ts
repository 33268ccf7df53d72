// The rows of a JSON tree: the visible rows in order, and keyboard navigation between them.
export interface TreeRow {
  /** For example `items[0].name`; empty for the root. */
  path: string;
  /** Absent for the root. */
  name: string | undefined;
  value: unknown;
  type: 'string' | 'number' | 'boolean' | 'null' | 'branch';
  depth: number;
  /** The number of children; `undefined` for scalars. */
  size: number | undefined;
  isOpen: boolean;
  position: number;
  siblings: number;
}

type Entry = [name: string, path: string, value: unknown];

function entriesOf(value: unknown, path: string): Entry[] {
  if (Array.isArray(value)) return value.map((item: unknown, index): Entry => [String(index), `${path}[${index}]`, item]);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).map(([name, one]): Entry => [name, pathTo(path, name), one]);
}

function pathTo(path: string, name: string): string {
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}

function sizeOf(value: unknown): number | undefined {
  if (Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? Object.keys(value).length : undefined;
}

function typeOf(value: unknown): TreeRow['type'] {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return typeof value as 'string';
  return 'branch';
}

/**
 * Returns the visible rows. Visits open nodes only, so that a large value costs nothing until it is opened.
 */
export function rowsOf(value: unknown, open: ReadonlySet<string>): TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (name: string | undefined, path: string, one: unknown, depth: number, position: number, siblings: number) => {
    const size = sizeOf(one);
    const isOpen = size !== undefined && open.has(path);
    rows.push({ path, name, value: one, type: typeOf(one), depth, size, isOpen, position, siblings });
    if (!isOpen) return;
    const entries = entriesOf(one, path);
    entries.forEach(([inner, innerPath, item], index) => add(inner, innerPath, item, depth + 1, index + 1, entries.length));
  };
  add(undefined, '', value, 0, 1, 1);
  return rows;
}

const ROWS_AT_FIRST = 40;

/** The nodes that are open initially: level by level, while all rows fit into view. */
export function firstOpen(value: unknown): Set<string> {
  const open = new Set<string>();
  let rows = 1;
  let level: Entry[] = [['', '', value]];
  while (level.length > 0) {
    const next: Entry[] = [];
    for (const [, path, one] of level) {
      const size = sizeOf(one) ?? 0;
      if (size === 0) continue;
      // The root is always open.
      if (path !== '' && rows + size > ROWS_AT_FIRST) continue;
      open.add(path);
      rows += size;
      if (size <= ROWS_AT_FIRST) next.push(...entriesOf(one, path));
    }
    level = next;
  }
  return open;
}

export type Move = { to: number } | { open: boolean };

/**
 * The effect of a key: select a row, or open or close the selected one. Returns `null` if the key has no
 * effect.
 */
export function moveTo(key: string, rows: readonly TreeRow[], at: number): Move | null {
  const row = rows[at];
  if (row === undefined) return null;
  const isBranch = row.size !== undefined;
  switch (key) {
    case 'ArrowDown':
      return { to: Math.min(at + 1, rows.length - 1) };
    case 'ArrowUp':
      return { to: Math.max(at - 1, 0) };
    case 'Home':
      return { to: 0 };
    case 'End':
      return { to: rows.length - 1 };
    case 'PageDown':
      return { to: Math.min(at + 15, rows.length - 1) };
    case 'PageUp':
      return { to: Math.max(at - 15, 0) };
    case 'ArrowRight':
      if (!isBranch) return { to: at };
      return row.isOpen ? { to: Math.min(at + 1, rows.length - 1) } : { open: true };
    case 'ArrowLeft':
      return isBranch && row.isOpen ? { open: false } : { to: parentOf(rows, at) };
    case 'Enter':
    case ' ':
      return isBranch ? { open: !row.isOpen } : { to: at };
    default:
      return null;
  }
}

function parentOf(rows: readonly TreeRow[], at: number): number {
  const depth = rows[at]?.depth ?? 0;
  for (let index = at - 1; index >= 0; index -= 1) if ((rows[index]?.depth ?? 0) < depth) return index;
  return at;
}

/** A value on one line, truncated. */
export function summaryOf(value: unknown, longest: number): string {
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, longest)) : JSON.stringify(value ?? null);
  return typeof value === 'string' && value.length > longest ? `${text.slice(0, -1)}…"` : text;
}
