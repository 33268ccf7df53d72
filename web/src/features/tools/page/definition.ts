// What somebody defined, without what the server adds to it.
import type { Tool } from './tool';

const ADDED = ['id', 'spaceId', 'ownerId', 'version', 'createdAt', 'updatedAt'] as const;

export type Definition = Omit<Tool, (typeof ADDED)[number]>;

export function definitionOf(tool: Tool): Definition {
  const isAdded = (name: string) => ADDED.some((added) => added === name);
  return Object.fromEntries(Object.entries(tool).filter(([name]) => !isAdded(name))) as Definition;
}
