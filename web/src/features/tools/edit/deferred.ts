// Settings of deferred results (polling or callback), from and to the definition.
import { holdsCallback, type ResultMode, resultModeOf } from '../page/resultMode';
import { configOf, type Definition } from './definition';
import { type Fields, fieldsOf, numberOf, textOf, withField, without } from './json';

/** A list of status values, or a condition on the whole response. */
export interface StatusTest {
  isCondition: boolean;
  text: string;
}

export interface DeferredDraft {
  mode: ResultMode;
  url: string;
  status: string;
  done: StatusTest;
  failed: StatusTest;
  result: string;
  progress: string;
  interval: number | undefined;
  timeout: number | undefined;
}

const TEXT_FIELDS = ['url', 'status', 'result', 'progress'] as const;
const TEST_FIELDS = ['done', 'failed'] as const;
const NUMBER_FIELDS = ['interval', 'timeout'] as const;
/** Fields that exist only for polling. */
const POLL_FIELDS = ['url', 'interval'];

export function readDeferred(definition: Definition): DeferredDraft {
  const config = configOf(definition);
  const mode = resultModeOf(config);
  const settings = mode === 'once' ? {} : fieldsOf(config[mode]);
  return {
    mode,
    url: textOf(settings['url']),
    status: textOf(settings['status']),
    done: testOf(settings['done']),
    failed: testOf(settings['failed']),
    result: textOf(settings['result']),
    progress: textOf(settings['progress']),
    interval: numberOf(settings['interval']),
    timeout: numberOf(settings['timeout']),
  };
}

function testOf(value: unknown): StatusTest {
  if (Array.isArray(value)) return { isCondition: false, text: value.map(textOf).join(', ') };
  return { isCondition: typeof value === 'string', text: textOf(value) };
}

/** Splits a list at commas, Chinese ones included, and line breaks. */
export function textsIn(text: string): string[] {
  return text.split(/[,，、\n]/).map((word) => word.trim()).filter((word) => word !== '');
}

function testFrom({ isCondition, text }: StatusTest): string | string[] | undefined {
  if (isCondition) return text.trim() === '' ? undefined : text.trim();
  const words = textsIn(text);
  return words.length === 0 ? undefined : words;
}

/** Writes changed fields and removes the settings of the other mode. */
export function writeDeferred(definition: Definition, deferred: DeferredDraft): Definition {
  const before = readDeferred(definition);
  const config = configOf(definition);
  const rest = without(config, 'poll', 'callback');
  if (deferred.mode === 'once') return { ...definition, config: rest };
  const isOtherMode = before.mode !== deferred.mode;
  let settings: Fields = isOtherMode ? {} : fieldsOf(config[deferred.mode]);
  for (const name of TEXT_FIELDS) if (isOtherMode || deferred[name] !== before[name]) settings = withField(settings, name, deferred[name].trim() === '' ? undefined : deferred[name].trim());
  for (const name of NUMBER_FIELDS) if (isOtherMode || deferred[name] !== before[name]) settings = withField(settings, name, deferred[name]);
  for (const name of TEST_FIELDS) {
    const [now, then] = [deferred[name], before[name]];
    if (isOtherMode || now.text !== then.text || now.isCondition !== then.isCondition) settings = withField(settings, name, testFrom(now));
  }
  if (deferred.mode === 'callback') settings = without(settings, ...POLL_FIELDS);
  // A request with `{{callbackUrl}}` implies the callback mode without a `callback` field.
  const isWritten = deferred.mode === 'poll' || Object.keys(settings).length > 0 || !holdsCallback(rest) || 'callback' in config;
  return { ...definition, config: withField(rest, deferred.mode, isWritten ? settings : undefined) };
}
