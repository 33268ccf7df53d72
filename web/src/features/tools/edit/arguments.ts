// A schema's arguments as a list: each may be changed, and what the list does not show stays.
import { type Fields, fieldsOf, isFields, listOf, parsed, textOf, withField } from './json';

export const ARGUMENT_TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object'] as const;

export interface Argument {
  name: string;
  /** Empty where the schema says it otherwise than by one word. */
  type: string;
  description: string;
  isRequired: boolean;
  /** As one types it: a text as it is, anything else as JSON. */
  fallback: string;
}

/** Whether the list says all there is of who belongs to it. */
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
  const properties = Object.entries(fieldsOf(schema['properties'])).filter(([known]) => known !== name);
  return { ...schema, properties: Object.fromEntries(properties), required: requiredOf(schema).filter((known) => known !== name) };
}

/** A name that is empty or taken changes nothing. */
export function renameArgument(schema: Fields, name: string, next: string): Fields {
  const properties = fieldsOf(schema['properties']);
  if (next === '' || next in properties) return schema;
  const renamed = Object.entries(properties).map(([known, property]) => [known === name ? next : known, property] as const);
  const required = requiredOf(schema).map((known) => (known === name ? next : known));
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
  const others = requiredOf(schema).filter((known) => known !== name);
  return { ...next, required: change.isRequired ? [...others, name] : others };
}

function valueOf(type: string, text: string): unknown {
  if (text === '') return undefined;
  if (type === 'string') return text;
  const json = parsed(text);
  return json === undefined ? text : json.value;
}
