// What a pasted cURL command becomes, put together from what the server found in it and from the command itself.
import type { Schemas } from '@/api/client';

import { fieldsOf, textOf } from './json';

export type Found = Schemas['ImportReport']['tools'][number];

export interface Argument {
  name: string;
  type: string;
  isRequired: boolean;
  description: string;
  /** What is sent where the model gives nothing; undefined where there is none. */
  preset: string | undefined;
}

export interface CurlRequest {
  method: string;
  /** With `{name}` where an argument goes; only the path where the command does not show the rest plainly. */
  url: string;
  /** Names alone: a value may be a credential. */
  headers: readonly string[];
  /** Arguments that go into the body. */
  body: readonly string[];
}

const ADDRESS = /https?:\/\/[^\s'"`\\]+/g;
const HEADER = /(?:^|\s)(?:-H|--header)[\s=]*\$?['"]?([\w-]+)\s*[:;]/g;
const VARIABLE = /^(?:\{\{?.*\}\}?|:\w+|%7B.*%7D)$/i;

export function argumentsOf(schema: unknown): Argument[] {
  const { properties, required } = fieldsOf(schema);
  const needed: unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(fieldsOf(properties)).map(([name, property]) => {
    const { description, default: preset } = fieldsOf(property);
    return {
      name, type: typeOf(property), isRequired: needed.includes(name), description: textOf(description),
      preset: preset === undefined ? undefined : JSON.stringify(preset),
    };
  });
}

function typeOf(schema: unknown): string {
  const { type, items } = fieldsOf(schema);
  const named = Array.isArray(type) ? type.join(' | ') : textOf(type);
  if (named === 'array' && items !== undefined) return `${typeOf(items)}[]`;
  return named === '' ? 'any' : named;
}

/** `isAlone`: whether everything in the command is of this one request. */
export function requestOf(tool: Found, command: string, isAlone: boolean): CurlRequest {
  const { method, path } = tool;
  const names = argumentsOf(tool.inputSchema).map(({ name }) => name);
  const address = [...command.matchAll(ADDRESS)].map(([text]) => addressOf(text)).find((one) => one !== undefined && fits(one, path));
  const query = [...new Set(address?.searchParams.keys())];
  const headers = isAlone ? [...new Set([...command.matchAll(HEADER)].map((match) => match[1] ?? ''))] : [];
  const taken = new Set([...query, ...headers.map(asArgument), ...[...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])]);
  const isBodyless = method === 'GET' || method === 'HEAD';
  const sent = query.map((name) => `${name}=${names.includes(name) ? `{${name}}` : '•••'}`).join('&');
  return {
    method, headers,
    url: `${address?.origin ?? ''}${path}${sent === '' ? '' : `?${sent}`}`,
    body: isBodyless || !isAlone ? [] : names.filter((name) => !taken.has(name)),
  };
}

function addressOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** Whether an address is that of the path, whatever stands where arguments go. */
function fits(address: URL, path: string): boolean {
  const [given, found] = [address.pathname, path].map((one) => one.split('/'));
  if (given === undefined || found?.length !== given.length) return false;
  return found.every((part, at) => part === given[at] || VARIABLE.test(part) || VARIABLE.test(given[at] ?? ''));
}

/** As the server names the argument of a header. */
function asArgument(name: string): string {
  return name.replace(/\W/g, '_');
}
