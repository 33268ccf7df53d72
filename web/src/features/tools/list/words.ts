// What the list of tools says in several places.
import type { Schemas } from '@/api/client';
import { type Language, words } from '@/i18n/language';

export const KINDS = words(
  { builtin: 'Built-in', native: 'Native', http: 'HTTP', mcp: 'MCP', mock: 'Mock', python: 'Python', flow: 'Flow', agent: 'Agent' },
  { builtin: '内置', native: '原生', http: 'HTTP', mcp: 'MCP', mock: '模拟', python: 'Python', flow: '流程', agent: '智能体' },
);

export const CATEGORIES = words(
  { search: 'Search', math: 'Math', utility: 'Utility', data: 'Data', custom: 'Custom', mcp: 'MCP' },
  { search: '搜索', math: '数学', utility: '实用', data: '数据', custom: '自定义', mcp: 'MCP' },
);

/** A word of one's own stands for itself, begun as the others are. */
export function wordFor(known: Readonly<Record<string, string>>, name: string): string {
  return Object.hasOwn(known, name) ? (known[name] ?? name) : name.charAt(0).toUpperCase() + name.slice(1);
}

export function titleOf(tool: Pick<Schemas['Tool'], 'title' | 'name'>, language: Language): string {
  if (tool.title === null) return tool.name;
  return typeof tool.title === 'string' ? tool.title : tool.title[language];
}
