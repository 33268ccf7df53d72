// What the categories of tools are called that come with Haft.
import { words } from './language';

export const CATEGORIES = words(
  { search: 'Search', math: 'Math', utility: 'Utility', data: 'Data', custom: 'Custom', mcp: 'MCP' },
  { search: '搜索', math: '数学', utility: '实用工具', data: '数据', custom: '自定义', mcp: 'MCP' },
);

/** A word of one's own stands for itself, begun as the others are. */
export function wordFor(known: Readonly<Record<string, string>>, name: string): string {
  return Object.hasOwn(known, name) ? (known[name] ?? name) : name.charAt(0).toUpperCase() + name.slice(1);
}
