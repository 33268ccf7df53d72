// The definition of a tool, without the fields that the server adds.
import type { Tool } from './tool';

const SERVER_FIELDS = ['id', 'spaceId', 'ownerId', 'version', 'createdAt', 'updatedAt'] as const;

export type Definition = Omit<Tool, (typeof SERVER_FIELDS)[number]>;

export function definitionOf(tool: Tool): Definition {
  const isServerField = (name: string) => SERVER_FIELDS.some((field) => field === name);
  return Object.fromEntries(Object.entries(tool).filter(([name]) => !isServerField(name))) as Definition;
}
