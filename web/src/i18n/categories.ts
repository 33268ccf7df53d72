// Names of the tool categories that come with Haft.
import { texts } from './language';

export const CATEGORIES = texts(
  { search: 'Search', math: 'Math', utility: 'Utility', data: 'Data', custom: 'Custom', mcp: 'MCP' },
  { search: '搜索', math: '数学', utility: '实用工具', data: '数据', custom: '自定义', mcp: 'MCP' },
);

/** Returns the translated name of a known category; any other category is capitalized. */
export function categoryName(known: Readonly<Record<string, string>>, name: string): string {
  return Object.hasOwn(known, name) ? (known[name] ?? name) : name.charAt(0).toUpperCase() + name.slice(1);
}
