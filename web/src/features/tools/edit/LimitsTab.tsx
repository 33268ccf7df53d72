// The Limits tab: timeouts, retries, cache and rate limits, with advice on usual values.
import type { Violation } from '@/api/client';
import { NumberField } from '@/components/Field';
import { useTexts, texts } from '@/i18n/language';

import css from './Editor.module.css';
import type { LimitsDraft } from './limits';
import type { Change } from './useDraft';
import { messageAt } from './violations';

const TEXTS = texts(
  {
    time: 'Timeouts and retries', timeout: 'Timeout, in seconds', timeoutHint: 'For one attempt. 10–60 s suits most APIs. Default 30.',
    timeoutShort: 'Shorter than the usual 10–60 s: a slow API will cause errors.', timeoutLong: 'Longer than the usual 10–60 s: an agent may wait that long.',
    total: 'Total timeout, in seconds', totalHint: 'For all attempts and delays. Default 120.',
    retries: 'Retries', retriesHint: '1–5 is usual. Default: 3 if repeating is safe.', retriesMany: 'More than the usual 1–5: puts load on a failing API.',
    delay: 'Retry delay, in milliseconds', delayHint: 'Doubles with each attempt. Default 1000.',
    amount: 'Cache and rate limits', cache: 'Cache, in seconds', cacheHint: 'Equal arguments return the cached result. Only for read-only tools.',
    perMinute: 'Calls per minute', perMinuteHint: 'Per user. Default: no limit.', burst: 'Burst', burstHint: 'Max calls at once after a pause. Default: the calls of one minute.',
    concurrency: 'Max concurrency', concurrencyHint: 'Default: no limit.',
  },
  {
    time: '时间与重试', timeout: '超时（秒）', timeoutHint: '大多数接口 10–60 秒合适。单次尝试；留空为 30。',
    timeoutShort: '短于常用的 10–60 秒：接口稍慢就会报错。', timeoutLong: '长于常用的 10–60 秒：智能体会一直等待。',
    total: '总时长（秒）', totalHint: '包括所有尝试和间隔；留空为 120。',
    retries: '重试次数', retriesHint: '一般 1–5 次。留空：可安全重复时为 3。', retriesMany: '多于常用的 1–5 次：会给出故障的接口更大压力。',
    delay: '首次间隔（毫秒）', delayHint: '每次加倍；留空为 1000。',
    amount: '用量', cache: '缓存时间（秒）', cacheHint: '参数相同则返回缓存结果；仅用于只读工具。',
    perMinute: '每分钟调用数', perMinuteHint: '按用户计；留空不限。', burst: '突发', burstHint: '空闲后可立即发出的次数；留空为一分钟的量。',
    concurrency: '同时调用数', concurrencyHint: '留空不限。',
  },
);

export interface LimitsTabProps {
  limits: LimitsDraft;
  violations: readonly Violation[];
  change: Change;
}

export function LimitsTab({ limits, violations, change }: LimitsTabProps) {
  const t = useTexts(TEXTS);
  const number = (name: 'retryCount' | 'retryDelay' | 'cacheTtl' | 'perMinute' | 'burst' | 'maxConcurrency', path: string = name) => ({
    value: limits[name], minimum: 0, onChange: (value: number | undefined) => change('limits', { [name]: value }), error: messageAt(violations, path),
  });
  const seconds = (name: 'timeout' | 'totalTimeout') => ({
    value: limits[name] === undefined ? undefined : limits[name] / 1000, minimum: 0.001,
    onChange: (value: number | undefined) => change('limits', { [name]: value === undefined ? undefined : Math.round(value * 1000) }),
    error: messageAt(violations, name) ?? (name === 'timeout' ? messageAt(violations, 'config.security.timeout') : undefined),
  });
  return (
    <div className={css.stack}>
      <fieldset className={css.group}>
        <legend>{t.time}</legend>
        <div className={css.two}>
          <NumberField label={t.timeout} {...seconds('timeout')} placeholder="30" description={advice(limits.timeout, 10_000, 60_000, t.timeoutHint, t.timeoutShort, t.timeoutLong)} />
          <NumberField label={t.retries} {...number('retryCount')} placeholder="3" maximum={10} description={advice(limits.retryCount, 0, 5, t.retriesHint, t.retriesHint, t.retriesMany)} />
          <NumberField label={t.total} {...seconds('totalTimeout')} placeholder="120" description={t.totalHint} />
          <NumberField label={t.delay} {...number('retryDelay')} placeholder="1000" description={t.delayHint} />
        </div>
      </fieldset>
      <fieldset className={css.group}>
        <legend>{t.amount}</legend>
        <div className={css.two}>
          <NumberField label={t.cache} {...number('cacheTtl')} placeholder="0" description={t.cacheHint} />
          <NumberField label={t.concurrency} {...number('maxConcurrency')} description={t.concurrencyHint} />
          <NumberField label={t.perMinute} {...number('perMinute', 'rateLimit')} description={t.perMinuteHint} />
          <NumberField label={t.burst} {...number('burst', 'rateLimit.burst')} description={t.burstHint} isDisabled={limits.perMinute === undefined} />
        </div>
      </fieldset>
    </div>
  );
}

/** Returns the hint for a number that is usual, small or large. */
function advice(value: number | undefined, low: number, high: number, usual: string, small: string, large: string): string {
  if (value === undefined) return usual;
  if (value < low) return small;
  return value > high ? large : usual;
}
