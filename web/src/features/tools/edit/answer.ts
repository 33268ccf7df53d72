// What is done with an answer before a model sees it: a filter, and what is made unreadable.
import { configOf, type Definition } from './definition';
import { type Fields, fieldsOf, isFields, listOf, numberOf, same, textOf, withField } from './json';

export const PRESETS = ['email', 'phone', 'idCard', 'card'] as const;

export interface AnswerDraft {
  responseFilter: string;
  presets: readonly string[];
  /** One path in each line. */
  paths: string;
  /** One regular expression in each line. */
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

export function readAnswer(definition: Definition): AnswerDraft {
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

export function writeAnswer(definition: Definition, answer: AnswerDraft): Definition {
  const before = readAnswer(definition);
  let config: Fields = configOf(definition);
  config = withField(config, 'responseFilter', answer.responseFilter === '' ? undefined : answer.responseFilter);
  const redactionOf = ({ presets, paths, patterns }: AnswerDraft) => [presets, paths, patterns];
  if (!same(redactionOf(before), redactionOf(answer))) config = withField(config, 'redact', redactFrom(answer));
  if (before.maxResponseSize !== answer.maxResponseSize) {
    const security = withField(fieldsOf(config['security']), 'maxResponseSize', answer.maxResponseSize);
    config = withField(config, 'security', Object.keys(security).length === 0 ? undefined : security);
  }
  return { ...definition, config };
}

function redactFrom(answer: AnswerDraft): unknown[] | undefined {
  const patterns = [...answer.presets, ...linesOf(answer.patterns)].map((pattern) => ({ pattern }));
  const all = [...linesOf(answer.paths), ...patterns];
  return all.length === 0 ? undefined : all;
}

/** Which field of the form an entry of `redact` stands in. */
export function redactField(definition: Definition, at: number): 'paths' | 'patterns' {
  return isFields(listOf(configOf(definition)['redact'])[at]) ? 'patterns' : 'paths';
}
