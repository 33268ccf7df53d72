// What the list of tools says in several places.
import type { Schemas } from '@/api/client';
import { type Language, words } from '@/i18n/language';

export const KINDS = words(
  { builtin: 'Built-in', native: 'Native', http: 'HTTP', mcp: 'MCP', mock: 'Mock', python: 'Python', flow: 'Flow', agent: 'Agent' },
  { builtin: '内置', native: '原生', http: 'HTTP', mcp: 'MCP', mock: '模拟', python: 'Python', flow: '流程', agent: '智能体' },
);

export function titleOf(tool: Pick<Schemas['Tool'], 'title' | 'name'>, language: Language): string {
  if (tool.title === null) return tool.name;
  return typeof tool.title === 'string' ? tool.title : tool.title[language];
}
