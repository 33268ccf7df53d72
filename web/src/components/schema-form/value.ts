// Immutable updates of JSON objects and lists, and conversion of dates for inputs.
import { type JsonObject, type JsonValue, without } from './schema';

/** Sets a property; `undefined` removes it. */
export function withField(object: JsonObject, name: string, value: JsonValue | undefined): JsonObject {
  if (value === undefined) {
    return without(object, name);
  }
  return { ...object, [name]: value };
}

export function withItem<T>(list: readonly T[], at: number, item: T): T[] {
  return list.map((one, index) => (index === at ? item : one));
}

export function withoutItem<T>(list: readonly T[], at: number): T[] {
  return list.filter((_, index) => index !== at);
}

export function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const item = list[from];
  if (item === undefined || to < 0 || to >= list.length) return [...list];
  const rest = withoutItem(list, from);
  return [...rest.slice(0, to), item, ...rest.slice(to)];
}

export interface MapRow {
  id: number;
  name: string;
  value: JsonValue;
}

/** Builds an object from rows. Rows without a name are ignored; the last of equal names wins. */
export function objectOfRows(rows: readonly MapRow[]): JsonObject {
  return Object.fromEntries(rows.filter((row) => row.name !== '').map((row) => [row.name, row.value]));
}

/** Converts a `date-time` to local time for an input (`2024-03-20T09:30`). Returns null if it cannot be converted. */
export function localTime(value: string): string | null {
  if (value === '') return '';
  const at = new Date(value);
  if (Number.isNaN(at.getTime()) || !value.includes('T')) return null;
  const two = (number: number) => String(number).padStart(2, '0');
  // A year that is being typed has fewer than four digits.
  const year = String(at.getFullYear()).padStart(4, '0');
  const day = `${year}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return at.getSeconds() === 0 ? `${day}T${time}` : `${day}T${time}:${two(at.getSeconds())}`;
}

/** Converts local time from an input to a `date-time` in UTC. */
export function zonedTime(local: string): string | undefined {
  const at = new Date(local);
  return local === '' || Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
