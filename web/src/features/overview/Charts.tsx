// Calls, errors and latency over time. Selecting a time range opens its calls.
import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';

import type { Schemas } from '@/api/client';
import { Chart } from '@/components/chart/Chart';
import { useFormat } from '@/i18n/format';
import { texts, useLanguage, useTexts } from '@/i18n/language';

import css from './OverviewPage.module.css';
import { linesOf, type Peak, peakOf } from './series';
import { ALL_CALLS } from './windows';

const TEXTS = texts(
  {
    calls: 'Calls per minute', all: 'All', failed: 'Failed', rate: 'Error rate', latency: 'Latency', nothing: 'No data.',
    callsSay: (total: string, most: string, at: string) => `${total} calls; at most ${most} per minute, at ${at}.`,
    rateSay: (mean: string, most: string, at: string) => `${mean} of all calls failed; at most ${most}, at ${at}.`,
    latencySay: (p50: string, p95: string, p99: string, most: string, at: string) => `p50 ${p50}, p95 ${p95}, p99 ${p99}; the highest p95 was ${most}, at ${at}.`,
  },
  {
    calls: '每分钟调用次数', all: '全部', failed: '失败', rate: '错误率', latency: '延迟', nothing: '没有可显示的数据。',
    callsSay: (total: string, most: string, at: string) => `共 ${total} 次调用；最高每分钟 ${most} 次，在 ${at}。`,
    rateSay: (mean: string, most: string, at: string) => `${mean} 的调用失败；最高 ${most}，在 ${at}。`,
    latencySay: (p50: string, p95: string, p99: string, most: string, at: string) => `p50 ${p50}，p95 ${p95}，p99 ${p99}；p95 最高 ${most}，在 ${at}。`,
  },
);

const DAY = 86_400;
const LEAST_ERROR_RATE = 0.05;
const route = getRouteApi('/inside/');

export function Charts({ stats }: { stats: Schemas['Stats'] }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const navigate = route.useNavigate();
  const formatTime = useTimes(stats);
  const lines = useMemo(() => linesOf(stats), [stats]);
  const { times, perMinute, errorRate, p95 } = lines;
  const { totals } = stats;
  const select = (search: { status?: string }) => (from: number, to: number) => {
    const span = { from: new Date(from * 1000).toISOString(), to: new Date(to * 1000).toISOString() };
    void navigate({ to: '/calls', search: { ...ALL_CALLS, ...span, ...search } });
  };
  const say = (peak: Peak | undefined, text: (value: number, at: string) => string) => (
    peak === undefined ? t.nothing : text(peak.value, format.time(new Date(peak.at * 1000)))
  );
  const series = useMemo(() => ({
    calls: [
      { label: t.all, tone: 'accent' as const, values: lines.perMinute, isFilled: true },
      { label: t.failed, tone: 'bad' as const, values: lines.failedPerMinute },
    ],
    rate: [{ label: t.rate, tone: 'bad' as const, values: lines.errorRate, isFilled: true }],
    latency: [
      { label: 'p50', tone: 'accent' as const, values: lines.p50 },
      { label: 'p95', tone: 'warn' as const, values: lines.p95 },
      { label: 'p99', tone: 'ink' as const, values: lines.p99 },
    ],
  }), [lines, t]);
  const formatMoment = (seconds: number) => format.time(new Date(seconds * 1000));
  const time = (value: number | null) => (value === null ? '–' : format.duration(value));
  return (
    <div className={css.charts}>
      <Chart
        title={t.calls} times={times} series={series.calls} height={200} format={format.count} formatTime={formatTime} formatMoment={formatMoment} atLeast={1} onSelect={select({})}
        summary={say(peakOf(times, perMinute), (value, at) => t.callsSay(format.count(totals.calls), format.count(value), at))}
      />
      <Chart
        title={t.rate} times={times} series={series.rate} format={format.percent} formatTime={formatTime} formatMoment={formatMoment} atLeast={LEAST_ERROR_RATE}
        onSelect={select({ status: 'failed' })}
        summary={say(peakOf(times, errorRate), (value, at) => t.rateSay(format.percent(totals.errorRate), format.percent(value), at))}
      />
      <Chart
        title={t.latency} times={times} series={series.latency} format={format.duration} formatTime={formatTime} formatMoment={formatMoment} atLeast={1} onSelect={select({})}
        summary={say(peakOf(times, p95), (value, at) => t.latencySay(time(totals.p50), time(totals.p95), time(totals.p99), format.duration(value), at))}
      />
    </div>
  );
}

/** The time format of the axis: hours for a window of days, dates for longer ones. */
function useTimes(stats: Schemas['Stats']): (seconds: number) => string {
  const { language } = useLanguage();
  const isLong = (Date.parse(stats.to) - Date.parse(stats.from)) / 1000 > 2 * DAY;
  return useMemo(() => {
    const shape = isLong ? { month: 'short', day: 'numeric' } as const : { hour: '2-digit', minute: '2-digit', hour12: false } as const;
    const written = new Intl.DateTimeFormat(language === 'zh' ? 'zh-CN' : 'en-US', shape);
    return (seconds) => written.format(seconds * 1000);
  }, [language, isLong]);
}
