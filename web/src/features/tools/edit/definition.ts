// A tool's definition: what somebody wrote, without what the server adds.
import type { Schemas } from '@/api/client';

import { definitionOf as wholeOf } from '../page/definition';
import { fieldsOf, type Fields, isFields, same, without } from './json';

export type Definition = Fields;

/** Where a new tool begins. */
export const NEW_TOOL: Definition = { name: '', description: '', type: 'http', config: {} };

/** A schema that was made from the variables is left out, so that it is made again when they change. */
export function definitionOf(tool: Schemas['Tool']): Definition {
  const definition = wholeOf(tool);
  return tool.type === 'http' && isGenerated(tool.inputSchema) ? without(definition, 'inputSchema') : definition;
}

/** As it is sent; the server is the judge of whether it is one. */
export function inputOf(definition: Definition): Schemas['ToolInput'] {
  return definition as Schemas['ToolInput'];
}

export function configOf(definition: Definition): Fields {
  return fieldsOf(definition['config']);
}

/** Whether a schema says no more than the names of variables. */
export function isGenerated(schema: unknown): boolean {
  if (!isFields(schema) || schema['additionalProperties'] !== false) return false;
  const known = ['type', 'properties', 'required', 'additionalProperties'];
  if (Object.keys(schema).some((name) => !known.includes(name))) return false;
  return Object.entries(fieldsOf(schema['properties'])).every(([name, property]) =>
    ['string', 'object'].some((type) => same(property, { type, description: `Parameter: ${name}` })),
  );
}
