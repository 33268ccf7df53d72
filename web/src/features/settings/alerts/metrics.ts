// The numbers that alerts watch, in the units that people say.
import type { Schemas } from '@/api/client';
import type { Format } from '@/i18n/format';
import { words } from '@/i18n/language';

export type Metric = Schemas['Metric'];

/** Those that can be above something today; nothing waits in the background yet. */
export const WATCHED: readonly Metric[] = ['errorRate', 'p95', 'circuitOpen'];

export const METRIC_WORDS = words(
  {
    errorRate: 'Error rate', errorRateAbout: 'The share of calls that failed, in this minute and the one before.', errorRateUnit: 'Above (%)',
    p95: 'Latency (p95)', p95About: 'The time that 95 of 100 calls stayed within, in this minute and the one before.', p95Unit: 'Above (milliseconds)',
    circuitOpen: 'Open circuits', circuitOpenAbout: 'How many circuit breakers are open. Each pauses calls of a tool, or to an address, that kept failing.', circuitOpenUnit: 'More than (circuits)',
    queueDepth: 'Waiting runs', queueDepthAbout: 'How many runs wait in the background.', queueDepthUnit: 'More than (runs)',
    deadLetters: 'Runs given up', deadLettersAbout: 'How many runs were given up.', deadLettersUnit: 'More than (runs)',
  },
  {
    errorRate: '错误率', errorRateAbout: '当前分钟及前一分钟内失败调用的占比。', errorRateUnit: '高于（%）',
    p95: '延迟（p95）', p95About: '当前分钟及前一分钟内 95% 的调用不超过的耗时。', p95Unit: '高于（毫秒）',
    circuitOpen: '熔断数', circuitOpenAbout: '已打开的熔断器数量。每个熔断器会暂停持续失败的工具或地址的调用。', circuitOpenUnit: '多于（个）',
    queueDepth: '等待的任务', queueDepthAbout: '后台等待的任务数量。', queueDepthUnit: '多于（个）',
    deadLetters: '放弃的任务', deadLettersAbout: '已放弃的任务数量。', deadLettersUnit: '多于（个）',
  },
);

/** 5 for the fraction 0.05: people type percents. */
export function shownLimit(metric: Metric, above: number): number {
  return metric === 'errorRate' ? Number((above * 100).toPrecision(12)) : above;
}

export function storedLimit(metric: Metric, shown: number): number {
  return metric === 'errorRate' ? Number((shown / 100).toPrecision(12)) : shown;
}

export function limitInWords(metric: Metric, value: number, format: Format): string {
  if (metric === 'errorRate') return format.percent(value);
  return metric === 'p95' ? format.duration(value) : format.count(value);
}
