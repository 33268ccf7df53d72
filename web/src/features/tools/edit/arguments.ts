// Edits the arguments of a JSON Schema as a list. Keywords that the list does not show are preserved.
import { type Fields, fieldsOf, isFields, listOf, parseJson, textOf, withField } from './json';

export const ARGUMENT_TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object'] as const;

export interface Argument {
  name: string;
  /** Empty if the schema does not declare exactly one type. */
  type: string;
  description: string;
  isRequired: boolean;
  /** The default as text: strings verbatim, other values as JSON. */
  fallback: string;
}

/** Returns true if the schema is a plain object whose arguments can be edited as a list. */
export function isListable(schema: unknown): schema is Fields {
  if (!isFields(schema) || schema['type'] !== 'object') return false;
  return !['oneOf', 'anyOf', 'allOf', '$ref'].some((name) => name in schema);
}

function requiredOf(schema: Fields): string[] {
  return listOf(schema['required']).map(textOf);
}

export function argumentsOf(schema: Fields): Argument[] {
  const required = requiredOf(schema);
  return Object.entries(fieldsOf(schema['properties'])).map(([name, given]) => {
    const property = fieldsOf(given);
    const fallback = property['default'];
    return {
      name,
      type: textOf(property['type']),
      description: textOf(property['description']),
      isRequired: required.includes(name),
      fallback: fallback === undefined ? '' : typeof fallback === 'string' ? fallback : JSON.stringify(fallback),
    };
  });
}

export function addArgument(schema: Fields): Fields {
  const properties = fieldsOf(schema['properties']);
  let name = 'argument';
  for (let number = 2; name in properties; number += 1) name = `argument_${number}`;
  return { ...schema, properties: { ...properties, [name]: { type: 'string' } } };
}

export function removeArgument(schema: Fields, name: string): Fields {
  const properties = Object.entries(fieldsOf(schema['properties'])).filter(([key]) => key !== name);
  return { ...schema, properties: Object.fromEntries(properties), required: requiredOf(schema).filter((key) => key !== name) };
}

/** Renames an argument. Ignores an empty name and one that is already used. */
export function renameArgument(schema: Fields, name: string, next: string): Fields {
  const properties = fieldsOf(schema['properties']);
  if (next === '' || next in properties) return schema;
  const renamed = Object.entries(properties).map(([key, property]) => [key === name ? next : key, property] as const);
  const required = requiredOf(schema).map((key) => (key === name ? next : key));
  return withField({ ...schema, properties: Object.fromEntries(renamed) }, 'required', 'required' in schema ? required : undefined);
}

export function changeArgument(schema: Fields, name: string, change: Partial<Omit<Argument, 'name'>>): Fields {
  const properties = fieldsOf(schema['properties']);
  let property = fieldsOf(properties[name]);
  if (change.type !== undefined) property = withField({ ...property, type: change.type }, 'default', undefined);
  if (change.description !== undefined) property = withField(property, 'description', change.description === '' ? undefined : change.description);
  if (change.fallback !== undefined) property = withField(property, 'default', valueOf(textOf(property['type']), change.fallback));
  const next = { ...schema, properties: { ...properties, [name]: property } };
  if (change.isRequired === undefined) return next;
  const others = requiredOf(schema).filter((key) => key !== name);
  return { ...next, required: change.isRequired ? [...others, name] : others };
}

function valueOf(type: string, text: string): unknown {
  if (text === '') return undefined;
  if (type === 'string') return text;
  const json = parseJson(text);
  return json === undefined ? text : json.value;
}
