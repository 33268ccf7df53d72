// What a call may cost: time, attempts and rates, with advice on what is usual.
import type { Violation } from '@/api/client';
import { NumberField } from '@/components/Field';
import { useWords, words } from '@/i18n/language';

import css from './Editor.module.css';
import type { LimitsDraft } from './limits';
import type { Change } from './useDraft';
import { messageAt } from './violations';

const WORDS = words(
  {
    time: 'Time and repeats', timeout: 'Time-out, in seconds', timeoutHint: '10–60 s suits most APIs. For one attempt; 30 when empty.',
    timeoutShort: 'Shorter than the usual 10–60 s: slow moments of the API become errors.', timeoutLong: 'Longer than the usual 10–60 s: an agent waits all that time.',
    total: 'In all, in seconds', totalHint: 'Over all attempts and pauses; 120 when empty.',
    retries: 'Retries', retriesHint: '1–5 is usual. Empty: 3 where a repeat is safe.', retriesMany: 'More than the usual 1–5: a failing API is hit hard.',
    delay: 'First pause, in milliseconds', delayHint: 'Doubles with each attempt; 1000 when empty.',
    amount: 'How much', cache: 'Keep answers, in seconds', cacheHint: 'Equal arguments get the kept answer; only for tools that read.',
    perMinute: 'Calls per minute', perMinuteHint: 'For each user; no limit when empty.', burst: 'Burst', burstHint: 'At once after a pause; one minute’s worth when empty.',
    concurrency: 'Calls at once', concurrencyHint: 'No limit when empty.',
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
  const t = useWords(WORDS);
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

/** What to say beside a number that is usual, small, or large. */
function advice(value: number | undefined, least: number, most: number, usual: string, small: string, large: string): string {
  if (value === undefined) return usual;
  if (value < least) return small;
  return value > most ? large : usual;
}
