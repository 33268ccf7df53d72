// Names and values as rows of a form: an object while somebody types, with rows that have no name yet.
import { type Fields, isFields, parsed } from './json';

export interface Row {
  id: number;
  key: string;
  value: string;
  /** Not a text but a number, a list, an object: its value is written as JSON. */
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
  return { id: rows.reduce((most, row) => Math.max(most, row.id + 1), 0), key: '', value: '', isJson: false };
}

/** `undefined` where no row has a name. */
export function fieldsFrom(rows: readonly Row[]): Fields | undefined {
  const named = rows.filter((row) => row.key !== '');
  if (named.length === 0) return undefined;
  return Object.fromEntries(named.map((row) => [row.key, valueOf(row)]));
}

function valueOf(row: Row): unknown {
  if (!row.isJson) return row.value;
  const json = parsed(row.value);
  return json === undefined ? row.value : json.value;
}

/** The rows whose name stands in an earlier one, which they would replace. */
export function doubled(rows: readonly Row[]): ReadonlySet<number> {
  const seen = new Set<string>();
  const twice = new Set<number>();
  for (const row of rows) {
    if (row.key !== '' && seen.has(row.key)) twice.add(row.id);
    seen.add(row.key);
  }
  return twice;
}
