// Assigns violations to the tabs of the form by their paths.
import type { Violation } from '@/api/client';

import type { Definition } from './definition';
import { fieldsOf, isFields } from './json';
import { isBodyless, readRequest } from './request';

const TAB_NAMES = ['params', 'headers', 'body', 'auth', 'safety', 'arguments', 'answer', 'limits'] as const;

export type TabName = (typeof TAB_NAMES)[number];

/** Returns the tab with this name, or the first tab. */
export const tabNamed = (name: string | undefined): TabName => TAB_NAMES.find((one) => one === name) ?? 'params';

/** Returns the tab of a path: `form` for fields outside the tabs, `undefined` for paths without a field. */
export function tabOf(path: string, definition: Definition): TabName | 'form' | undefined {
  const [first, second, third] = path.split('.');
  if (first === 'inputSchema') return 'arguments';
  if (first !== 'config') return first === undefined ? undefined : TOP[first];
  if (second === 'params') return isBodyless(readRequest(definition).method) ? 'params' : 'body';
  if (second === 'security') return (third === undefined ? undefined : SECURITY[third]) ?? 'limits';
  return second === undefined ? undefined : CONFIG[second];
}

const TOP: Record<string, TabName | 'form'> = {
  name: 'form', title: 'form', description: 'form', category: 'form', timeout: 'limits', totalTimeout: 'limits', retryCount: 'limits',
  retryDelay: 'limits', cacheTtl: 'limits', rateLimit: 'limits', maxConcurrency: 'limits', effect: 'safety', policy: 'safety', askWhen: 'safety',
};
const SECURITY: Record<string, TabName> = { maxResponseSize: 'answer', allowedDomains: 'safety' };
const CONFIG: Record<string, TabName | 'form'> = {
  url: 'form', baseUrl: 'form', method: 'form', query: 'params', headers: 'headers', body: 'body', bodyType: 'body',
  auth: 'auth', responseFilter: 'answer', redact: 'answer', poll: 'answer', callback: 'answer',
};

/** Returns the first message at a path or below it. */
export function messageAt(violations: readonly Violation[], path: string): string | undefined {
  return violations.find((one) => one.path === path || one.path.startsWith(`${path}.`))?.message;
}

/** Returns true if the field at a path is still empty. Its violations are not shown yet. */
export function isUntouched(definition: Definition, path: string): boolean {
  let value: unknown = definition;
  for (const name of path.split('.')) value = Array.isArray(value) ? (value as unknown[])[Number(name)] : fieldsOf(value)[name];
  return value === undefined || value === null || value === '' || (isFields(value) && Object.keys(value).length === 0);
}
