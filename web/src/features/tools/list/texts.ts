// Labels of the kinds of tools.
import { texts } from '@/i18n/language';

export const KINDS = texts(
  { builtin: 'Built-in', native: 'Native', http: 'HTTP', mcp: 'MCP', mock: 'Mock', python: 'Python', flow: 'Flow', agent: 'Agent' },
  { builtin: '内置', native: '原生', http: 'HTTP', mcp: 'MCP', mock: '模拟', python: 'Python', flow: '流程', agent: '智能体' },
);
