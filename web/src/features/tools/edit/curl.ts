// The preview of a pasted cURL command, combined from the server's report and the command text.
import type { Schemas } from '@/api/client';

import { fieldsOf, textOf } from './json';

export type ImportedTool = Schemas['ImportReport']['tools'][number];

export interface Argument {
  name: string;
  type: string;
  isRequired: boolean;
  description: string;
  /** The default as JSON; `undefined` if there is none. */
  preset: string | undefined;
}

export interface CurlRequest {
  method: string;
  /** With `{name}` for arguments. Only the path if the command has no address that matches it. */
  url: string;
  /** Only names, because a value may be a credential. */
  headers: readonly string[];
  /** Arguments sent in the body. */
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

/** `isAlone` is true if the command has only this request, so that all its headers belong to it. */
export function requestOf(tool: ImportedTool, command: string, isAlone: boolean): CurlRequest {
  const { method, path } = tool;
  const names = argumentsOf(tool.inputSchema).map(({ name }) => name);
  const address = [...command.matchAll(ADDRESS)].map(([text]) => addressOf(text)).find((one) => one !== undefined && matchesPath(one, path));
  const query = [...new Set(address?.searchParams.keys())];
  const headers = isAlone ? [...new Set([...command.matchAll(HEADER)].map((match) => match[1] ?? ''))] : [];
  const used = new Set([...query, ...headers.map(asArgument), ...[...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])]);
  const isBodyless = method === 'GET' || method === 'HEAD';
  const sent = query.map((name) => `${name}=${names.includes(name) ? `{${name}}` : '•••'}`).join('&');
  return {
    method, headers,
    url: `${address?.origin ?? ''}${path}${sent === '' ? '' : `?${sent}`}`,
    body: isBodyless || !isAlone ? [] : names.filter((name) => !used.has(name)),
  };
}

function addressOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** Returns true if an address matches the path; path parameters match any segment. */
function matchesPath(address: URL, path: string): boolean {
  const [given, found] = [address.pathname, path].map((one) => one.split('/'));
  if (given === undefined || found?.length !== given.length) return false;
  return found.every((part, at) => part === given[at] || VARIABLE.test(part) || VARIABLE.test(given[at] ?? ''));
}

/** Converts a header name to the server's name of its argument. */
function asArgument(name: string): string {
  return name.replace(/\W/g, '_');
}
