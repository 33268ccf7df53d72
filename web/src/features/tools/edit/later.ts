// An answer that comes later, as the form has it: who is asked or calls back, and how one tells that it is over.
import { holdsCallback, type Way, wayOf } from '../page/answering';
import { configOf, type Definition } from './definition';
import { type Fields, fieldsOf, numberOf, textOf, withField, without } from './json';

/** Words that the status may be, or a condition on the whole answer. */
export interface Test {
  isCondition: boolean;
  text: string;
}

export interface LaterDraft {
  way: Way;
  url: string;
  status: string;
  done: Test;
  failed: Test;
  result: string;
  progress: string;
  interval: number | undefined;
  timeout: number | undefined;
}

const TEXTS = ['url', 'status', 'result', 'progress'] as const;
const TESTS = ['done', 'failed'] as const;
const NUMBERS = ['interval', 'timeout'] as const;
/** What is said of asking only. */
const OF_POLL = ['url', 'interval'];

export function readLater(definition: Definition): LaterDraft {
  const config = configOf(definition);
  const way = wayOf(config);
  const said = way === 'once' ? {} : fieldsOf(config[way]);
  return {
    way,
    url: textOf(said['url']),
    status: textOf(said['status']),
    done: testOf(said['done']),
    failed: testOf(said['failed']),
    result: textOf(said['result']),
    progress: textOf(said['progress']),
    interval: numberOf(said['interval']),
    timeout: numberOf(said['timeout']),
  };
}

function testOf(value: unknown): Test {
  if (Array.isArray(value)) return { isCondition: false, text: value.map(textOf).join(', ') };
  return { isCondition: typeof value === 'string', text: textOf(value) };
}

/** In Chinese one writes another comma. */
export function wordsIn(text: string): string[] {
  return text.split(/[,，、\n]/).map((word) => word.trim()).filter((word) => word !== '');
}

function testFrom({ isCondition, text }: Test): string | string[] | undefined {
  if (isCondition) return text.trim() === '' ? undefined : text.trim();
  const words = wordsIn(text);
  return words.length === 0 ? undefined : words;
}

/** Only what was changed; the other way to answer goes. */
export function writeLater(definition: Definition, later: LaterDraft): Definition {
  const before = readLater(definition);
  const config = configOf(definition);
  const rest = without(config, 'poll', 'callback');
  if (later.way === 'once') return { ...definition, config: rest };
  const isMoved = before.way !== later.way;
  let said: Fields = isMoved ? {} : fieldsOf(config[later.way]);
  for (const name of TEXTS) if (isMoved || later[name] !== before[name]) said = withField(said, name, later[name].trim() === '' ? undefined : later[name].trim());
  for (const name of NUMBERS) if (isMoved || later[name] !== before[name]) said = withField(said, name, later[name]);
  for (const name of TESTS) {
    const [now, then] = [later[name], before[name]];
    if (isMoved || now.text !== then.text || now.isCondition !== then.isCondition) said = withField(said, name, testFrom(now));
  }
  if (later.way === 'callback') said = without(said, ...OF_POLL);
  // A request that holds the address says enough by itself.
  const isSaid = later.way === 'poll' || Object.keys(said).length > 0 || !holdsCallback(rest) || 'callback' in config;
  return { ...definition, config: withField(rest, later.way, isSaid ? said : undefined) };
}
