// Limits, effect and policy of a tool, from and to the definition. Empty fields use the defaults.
import { linesOf } from './response';
import { configOf, type Definition } from './definition';
import { type Fields, fieldsOf, listOf, numberOf, same, textOf, withField, without } from './json';

export interface LimitsDraft {
  /** One host per line. */
  allowedDomains: string;
  timeout: number | undefined;
  totalTimeout: number | undefined;
  retryCount: number | undefined;
  retryDelay: number | undefined;
  cacheTtl: number | undefined;
  perMinute: number | undefined;
  burst: number | undefined;
  maxConcurrency: number | undefined;
  effect: string;
  policy: string;
  /** With policy `ask`: a condition on the arguments. Empty asks for every call. */
  askWhen: string;
}

const NUMBER_FIELDS = ['totalTimeout', 'retryCount', 'retryDelay', 'cacheTtl', 'maxConcurrency'] as const;
const TEXT_FIELDS = ['effect', 'policy'] as const;

export function readLimits(definition: Definition): LimitsDraft {
  const security = fieldsOf(configOf(definition)['security']);
  const rate = fieldsOf(definition['rateLimit']);
  const askWhen = textOf(definition['askWhen']);
  return {
    allowedDomains: listOf(security['allowedDomains']).map(textOf).join('\n'),
    timeout: numberOf(definition['timeout']) ?? numberOf(security['timeout']),
    totalTimeout: numberOf(definition['totalTimeout']),
    retryCount: numberOf(definition['retryCount']),
    retryDelay: numberOf(definition['retryDelay']),
    cacheTtl: numberOf(definition['cacheTtl']),
    perMinute: numberOf(rate['perMinute']),
    burst: numberOf(rate['burst']),
    maxConcurrency: numberOf(definition['maxConcurrency']),
    effect: textOf(definition['effect']),
    // A condition without a policy means `ask`.
    policy: textOf(definition['policy']) || (askWhen === '' ? '' : 'ask'),
    askWhen,
  };
}

/** Writes changed fields. A changed timeout moves from `config.security` to the top level. */
export function writeLimits(definition: Definition, limits: LimitsDraft): Definition {
  const before = readLimits(definition);
  let next: Fields = definition;
  for (const name of NUMBER_FIELDS) if (limits[name] !== before[name]) next = withField(next, name, limits[name]);
  for (const name of TEXT_FIELDS) if (limits[name] !== before[name]) next = withField(next, name, limits[name] === '' ? undefined : limits[name]);
  const askWhen = limits.policy === 'ask' ? limits.askWhen.trim() : '';
  if (askWhen !== before.askWhen) next = withField(next, 'askWhen', askWhen === '' ? undefined : askWhen);
  if (limits.perMinute !== before.perMinute || limits.burst !== before.burst) {
    const rate = withField({ perMinute: limits.perMinute }, 'burst', limits.burst);
    next = withField(next, 'rateLimit', limits.perMinute === undefined ? undefined : rate);
  }
  const config = configOf(next);
  let security = fieldsOf(config['security']);
  if (limits.timeout !== before.timeout) {
    next = withField(next, 'timeout', limits.timeout);
    security = without(security, 'timeout');
  }
  if (limits.allowedDomains !== before.allowedDomains) {
    const domains = linesOf(limits.allowedDomains);
    security = withField(security, 'allowedDomains', domains.length === 0 ? undefined : domains);
  }
  if (same(security, fieldsOf(config['security']))) return next;
  return { ...next, config: withField(config, 'security', Object.keys(security).length === 0 ? undefined : security) };
}
