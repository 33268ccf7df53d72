// Functions that read and change JSON values of unknown shape.

export { isEqual as same } from '@/components/conflict/mergeChanges';

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value if it is an object, else an empty object. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

export function without(fields: Fields, ...names: string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

/** Sets a field; `undefined` removes it. */
export function withField(fields: Fields, name: string, value: unknown): Fields {
  return value === undefined ? without(fields, name) : { ...fields, [name]: value };
}

/** Parses JSON. Returns `undefined` if the text is not valid JSON. */
export function parseJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

export function formatJson(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
