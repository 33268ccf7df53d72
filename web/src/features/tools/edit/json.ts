// Small questions about JSON values of which nobody knows the shape.

export { isEqual as same } from '@/components/conflict/mergeChanges';

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is an object, else an empty one. */
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

/** Sets a field, or takes it away where there is no value. */
export function withField(fields: Fields, name: string, value: unknown): Fields {
  return value === undefined ? without(fields, name) : { ...fields, [name]: value };
}

/** What a text spells, or nothing where it is not JSON. */
export function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

export function spelled(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
