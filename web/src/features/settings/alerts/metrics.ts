// The metrics of alerts, in display units.
import type { Schemas } from '@/api/client';
import type { Format } from '@/i18n/format';
import { texts } from '@/i18n/language';

export type Metric = Schemas['Metric'];

/** The metrics that can exceed a threshold today. */
export const WATCHED: readonly Metric[] = ['errorRate', 'p95', 'circuitOpen'];

export const METRIC_TEXTS = texts(
  {
    errorRate: 'Error rate', errorRateAbout: 'The share of calls that failed, in this minute and the one before.', errorRateUnit: 'Above (%)',
    p95: 'Latency (p95)', p95About: 'The time within which 95 of 100 calls ended, in this minute and the one before.', p95Unit: 'Above (milliseconds)',
    circuitOpen: 'Open circuits', circuitOpenAbout: 'The number of open circuit breakers. Each rejects calls of a tool, or to an address, that keeps failing.', circuitOpenUnit: 'More than (circuits)',
    queueDepth: 'Queue depth', queueDepthAbout: 'The number of runs that wait in the background.', queueDepthUnit: 'More than (runs)',
    deadLetters: 'Dead letters', deadLettersAbout: 'The number of runs that failed and are not retried.', deadLettersUnit: 'More than (runs)',
  },
  {
    errorRate: '错误率', errorRateAbout: '当前分钟及前一分钟内失败调用的占比。', errorRateUnit: '高于（%）',
    p95: '延迟（p95）', p95About: '当前分钟及前一分钟内 95% 的调用不超过的耗时。', p95Unit: '高于（毫秒）',
    circuitOpen: '熔断数', circuitOpenAbout: '已打开的熔断器数量。每个熔断器会暂停持续失败的工具或地址的调用。', circuitOpenUnit: '多于（个）',
    queueDepth: '等待的任务', queueDepthAbout: '后台等待的任务数量。', queueDepthUnit: '多于（个）',
    deadLetters: '死信', deadLettersAbout: '执行失败且不再重试的任务数量。', deadLettersUnit: '多于（个）',
  },
);

/** Converts a threshold to its display unit: 5 for the fraction 0.05, since people enter percentages. */
export function displayLimit(metric: Metric, above: number): number {
  return metric === 'errorRate' ? Number((above * 100).toPrecision(12)) : above;
}

export function storedLimit(metric: Metric, displayed: number): number {
  return metric === 'errorRate' ? Number((displayed / 100).toPrecision(12)) : displayed;
}

export function limitText(metric: Metric, value: number, format: Format): string {
  if (metric === 'errorRate') return format.percent(value);
  return metric === 'p95' ? format.duration(value) : format.count(value);
}
