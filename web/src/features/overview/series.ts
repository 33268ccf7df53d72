// Converts statistics to chart series.
import type { Schemas } from '@/api/client';

type Stats = Schemas['Stats'];

export interface Lines {
  times: number[];
  perMinute: (number | null)[];
  failedPerMinute: (number | null)[];
  errorRate: (number | null)[];
  p50: (number | null)[];
  p95: (number | null)[];
  p99: (number | null)[];
}

/**
 * Minimum share of a step by which its calls are divided; a rate over a step that has just begun would be
 * exaggerated.
 */
const ENOUGH = 0.25;

export function linesOf(stats: Stats): Lines {
  const end = Date.parse(stats.to);
  const lines: Lines = { times: [], perMinute: [], failedPerMinute: [], errorRate: [], p50: [], p95: [], p99: [] };
  for (const step of stats.series) {
    const begin = Date.parse(step.at);
    // The last step has not ended.
    const seconds = Math.min(stats.step, (end - begin) / 1000);
    const least = stats.step * ENOUGH;
    if (seconds < least && step.calls === 0) continue;
    const minutes = Math.max(seconds, least) / 60;
    lines.times.push(begin / 1000);
    lines.perMinute.push(step.calls / minutes);
    lines.failedPerMinute.push(step.errors / minutes);
    lines.errorRate.push(step.calls === 0 ? null : step.errorRate);
    lines.p50.push(step.p50);
    lines.p95.push(step.p95);
    lines.p99.push(step.p99);
  }
  return lines;
}

export interface Peak {
  value: number;
  /** In seconds since 1970. */
  at: number;
}

/** The maximum and its time. */
export function peakOf(times: readonly number[], values: readonly (number | null)[]): Peak | undefined {
  let peak: Peak | undefined;
  values.forEach((value, index) => {
    const at = times[index];
    if (value !== null && at !== undefined && (peak === undefined || value > peak.value)) peak = { value, at };
  });
  return peak;
}
