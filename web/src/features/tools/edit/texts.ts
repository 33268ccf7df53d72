// Texts that several parts of the tool editor share.
import { texts } from '@/i18n/language';

export const TABS = texts(
  {
    label: 'Parts of the request', params: 'Params', headers: 'Headers', body: 'Body', auth: 'Auth', safety: 'Safety', arguments: 'Arguments',
    answer: 'Response', limits: 'Limits', wrong: 'This tab has errors',
  },
  {
    label: '请求的各部分', params: '查询参数', headers: '请求头', body: '请求体', auth: '认证', safety: '安全', arguments: '工具参数',
    answer: '响应', limits: '限制', wrong: '此处有需要修改的内容',
  },
);

export const LOCATIONS = texts(
  { path: 'path', query: 'query', headers: 'header', body: 'body', auth: 'auth' },
  { path: '路径', query: '查询', headers: '请求头', body: '请求体', auth: '认证' },
);

export const JSON_ERRORS = texts(
  {
    body: 'This is not valid JSON. Put variables in quotes: "{{count}}" still becomes a number if its value is one.',
    inputSchema: 'This is not a JSON object.',
  },
  {
    body: '还不是有效的 JSON。变量需加引号："{{count}}" 传入数字时仍会是数字。',
    inputSchema: '还不是有效的 JSON 对象。',
  },
);
