// Names of error kinds, and of the interfaces by which calls arrive.
import type { ErrorKind, Schemas } from '@/api/client';

import { texts, useTexts } from './language';

type Source = Schemas['ToolCallRow']['source'];

const KINDS = texts<Record<ErrorKind, string>>(
  {
    Network: 'Network', Timeout: 'Timeout', Validation: 'Validation', Authentication: 'Authentication', Permission: 'Permission',
    NotFound: 'Not found', RateLimit: 'Rate limit', Server: 'Server error', CircuitOpen: 'Circuit open',
    ResponseTooLarge: 'Response too large', ToolDisabled: 'Tool disabled', Cancelled: 'Cancelled', Execution: 'Execution',
    Denied: 'Denied', Unknown: 'Unknown', Overloaded: 'Overloaded', BudgetExceeded: 'Budget exceeded', Internal: 'Internal',
    Unavailable: 'Unavailable', Unauthorized: 'Unauthorized', Conflict: 'Conflict', BadRequest: 'Bad request',
  },
  {
    Network: '网络错误', Timeout: '超时', Validation: '参数校验', Authentication: '身份验证', Permission: '权限不足',
    NotFound: '未找到', RateLimit: '频率限制', Server: '服务端错误', CircuitOpen: '熔断', ResponseTooLarge: '响应过大',
    ToolDisabled: '工具已停用', Cancelled: '已取消', Execution: '执行失败', Denied: '已拒绝', Unknown: '未知', Overloaded: '过载',
    BudgetExceeded: '超出预算', Internal: '内部错误', Unavailable: '不可用', Unauthorized: '未授权', Conflict: '冲突', BadRequest: '请求有误',
  },
);

const SOURCES = texts<Record<Source, string>>(
  { api: 'API', chat: 'Chat', flow: 'Flow', mcp: 'MCP', cli: 'CLI', task: 'Task', library: 'Library' },
  { api: 'API', chat: '对话', flow: '流程', mcp: 'MCP', cli: '命令行', task: '任务', library: '嵌入库' },
);

export const useKinds = (): Record<ErrorKind, string> => useTexts(KINDS);

export const useSources = (): Record<Source, string> => useTexts(SOURCES);
