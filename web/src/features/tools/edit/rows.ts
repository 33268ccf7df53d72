// An object as editable rows of name and value. A new row has no name yet.
import { type Fields, isFields, parseJson } from './json';

export interface Row {
  id: number;
  key: string;
  value: string;
  /** The value is not a string and is edited as JSON. */
  isJson: boolean;
}

export function rowsOf(value: unknown): Row[] {
  if (!isFields(value)) return [];
  return Object.entries(value).map(([key, given], id) => {
    const isJson = typeof given !== 'string';
    return { id, key, value: isJson ? JSON.stringify(given) : given, isJson };
  });
}

export function newRow(rows: readonly Row[]): Row {
  return { id: rows.reduce((next, row) => Math.max(next, row.id + 1), 0), key: '', value: '', isJson: false };
}

/** Builds an object from the rows. Returns `undefined` if no row has a name. */
export function fieldsFrom(rows: readonly Row[]): Fields | undefined {
  const named = rows.filter((row) => row.key !== '');
  if (named.length === 0) return undefined;
  return Object.fromEntries(named.map((row) => [row.key, valueOf(row)]));
}

function valueOf(row: Row): unknown {
  if (!row.isJson) return row.value;
  const json = parseJson(row.value);
  return json === undefined ? row.value : json.value;
}

/** Returns the ids of rows whose name an earlier row already has. */
export function duplicateRows(rows: readonly Row[]): ReadonlySet<number> {
  const seen = new Set<string>();
  const duplicates = new Set<number>();
  for (const row of rows) {
    if (row.key !== '' && seen.has(row.key)) duplicates.add(row.id);
    seen.add(row.key);
  }
  return duplicates;
}
