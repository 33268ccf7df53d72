// Haft's own definitions as files keep them: an export, a list of tools, or one tool.
import type { Schemas } from '@/api/client';

export interface Definitions {
  tools: Schemas['ToolInput'][];
  agents: Schemas['AgentInput'][];
}

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Throws where the text is not JSON; what the server cannot take, it says itself. */
export function readDefinitions(text: string): Definitions {
  const read: unknown = JSON.parse(text);
  const given = isObject(read) && ('tools' in read || 'agents' in read) ? read : { tools: Array.isArray(read) ? read : [read] };
  return { tools: listOf(given['tools']) as Definitions['tools'], agents: listOf(given['agents']) as Definitions['agents'] };
}
