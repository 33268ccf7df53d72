// The editable definition of a tool, without the fields that the server adds.
import type { Schemas } from '@/api/client';

import { definitionOf as wholeOf } from '../page/definition';
import { fieldsOf, type Fields, isFields, same, without } from './json';

export type Definition = Fields;

/** The definition of a new tool. */
export const NEW_TOOL: Definition = { name: '', description: '', type: 'http', config: {} };

/** Omits a schema generated from the variables, so that the server generates it again when they change. */
export function definitionOf(tool: Schemas['Tool']): Definition {
  const definition = wholeOf(tool);
  return tool.type === 'http' && isGenerated(tool.inputSchema) ? without(definition, 'inputSchema') : definition;
}

/** Converts a definition to the input of the API. The server validates it. */
export function inputOf(definition: Definition): Schemas['ToolInput'] {
  return definition as Schemas['ToolInput'];
}

export function configOf(definition: Definition): Fields {
  return fieldsOf(definition['config']);
}

/** Returns true if a schema has only the parts that the server generates from the names of variables. */
export function isGenerated(schema: unknown): boolean {
  if (!isFields(schema) || schema['additionalProperties'] !== false) return false;
  const keywords = ['type', 'properties', 'required', 'additionalProperties'];
  if (Object.keys(schema).some((name) => !keywords.includes(name))) return false;
  return Object.entries(fieldsOf(schema['properties'])).every(([name, property]) =>
    ['string', 'object'].some((type) => same(property, { type, description: `Parameter: ${name}` })),
  );
}
