// Response settings of an HTTP tool: filter, redaction and size limit, from and to the definition.
import { configOf, type Definition } from './definition';
import { type Fields, fieldsOf, isFields, listOf, numberOf, same, textOf, withField } from './json';

export const PRESETS = ['email', 'phone', 'idCard', 'card'] as const;

export interface ResponseDraft {
  responseFilter: string;
  presets: readonly string[];
  /** One path per line. */
  paths: string;
  /** One regular expression per line. */
  patterns: string;
  maxResponseSize: number | undefined;
}

function patternOf(entry: unknown): string {
  return textOf(fieldsOf(entry)['pattern']);
}

function isPreset(pattern: string): boolean {
  return PRESETS.some((preset) => preset === pattern);
}

export function linesOf(text: string): string[] {
  return text.split('\n').map((line) => line.trim()).filter((line) => line !== '');
}

export function readResponse(definition: Definition): ResponseDraft {
  const config = configOf(definition);
  const redact = listOf(config['redact']);
  const patterns = redact.map(patternOf).filter((pattern) => pattern !== '');
  return {
    responseFilter: textOf(config['responseFilter']),
    presets: patterns.filter(isPreset),
    paths: redact.map(textOf).filter((path) => path !== '').join('\n'),
    patterns: patterns.filter((pattern) => !isPreset(pattern)).join('\n'),
    maxResponseSize: numberOf(fieldsOf(config['security'])['maxResponseSize']),
  };
}

export function writeResponse(definition: Definition, response: ResponseDraft): Definition {
  const before = readResponse(definition);
  let config: Fields = configOf(definition);
  config = withField(config, 'responseFilter', response.responseFilter === '' ? undefined : response.responseFilter);
  const redactionOf = ({ presets, paths, patterns }: ResponseDraft) => [presets, paths, patterns];
  if (!same(redactionOf(before), redactionOf(response))) config = withField(config, 'redact', redactFrom(response));
  if (before.maxResponseSize !== response.maxResponseSize) {
    const security = withField(fieldsOf(config['security']), 'maxResponseSize', response.maxResponseSize);
    config = withField(config, 'security', Object.keys(security).length === 0 ? undefined : security);
  }
  return { ...definition, config };
}

function redactFrom(response: ResponseDraft): unknown[] | undefined {
  const patterns = [...response.presets, ...linesOf(response.patterns)].map((pattern) => ({ pattern }));
  const all = [...linesOf(response.paths), ...patterns];
  return all.length === 0 ? undefined : all;
}

/** Returns the form field that shows an entry of `redact`. */
export function redactField(definition: Definition, at: number): 'paths' | 'patterns' {
  return isFields(listOf(configOf(definition)['redact'])[at]) ? 'patterns' : 'paths';
}
