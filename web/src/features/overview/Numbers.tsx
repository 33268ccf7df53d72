// The four main numbers; each links to its calls.
import { Link } from '@tanstack/react-router';

import type { Schemas } from '@/api/client';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';
import type { Window } from '@/i18n/windows';

import css from './OverviewPage.module.css';
import { ALL_CALLS } from './windows';

const TEXTS = texts(
  {
    calls: 'Calls', rate: (count: string) => `${count} per minute`, hourly: (count: string) => `${count} per hour`, noTimes: 'no data yet', errorRate: 'Error rate', failed: (count: string) => `${count} failed`, p95: 'Latency p95',
    p50: (time: string) => `p50 ${time}`, cached: 'From cache', saved: (count: string) => `${count} calls saved`, none: '–', show: 'Show the calls',
  },
  {
    calls: '调用次数', rate: (count: string) => `每分钟 ${count} 次`, hourly: (count: string) => `每小时 ${count} 次`, noTimes: '暂无数据', errorRate: '错误率', failed: (count: string) => `${count} 次失败`, p95: '延迟 p95',
    p50: (time: string) => `半数在 ${time} 内`, cached: '缓存命中', saved: (count: string) => `省下 ${count} 次调用`, none: '–', show: '查看相关调用',
  },
);

export function Numbers({ stats, window }: { stats: Schemas['Stats']; window: Window }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const { totals } = stats;
  const minutes = Math.max(1, (Date.parse(stats.to) - Date.parse(stats.from)) / 60_000);
  const time = (value: number | null) => (value === null ? t.none : format.duration(value));
  // A low rate is shown per hour, since "0 per minute" would be wrong.
  const rate = (perMinute: number) => (perMinute >= 0.1 || perMinute === 0 ? t.rate(format.count(perMinute)) : t.hourly(format.count(perMinute * 60)));
  const numbers = [
    { name: t.calls, value: format.count(totals.calls), more: rate(totals.calls / minutes), search: {} },
    {
      name: t.errorRate, value: format.percent(totals.errorRate), more: t.failed(format.count(totals.errors)), search: { status: 'failed' },
      isBad: totals.errors > 0,
    },
    { name: t.p95, value: time(totals.p95), more: totals.p50 === null ? t.noTimes : t.p50(time(totals.p50)), search: {} },
    {
      name: t.cached, value: format.percent(totals.calls === 0 ? 0 : totals.cached / totals.calls), more: t.saved(format.count(totals.cached)),
      search: { status: 'success' },
    },
  ];
  return (
    <ul className={css.numbers}>
      {numbers.map(({ name, value, more, search, isBad }) => (
        <li key={name}>
          <Link to="/calls" search={{ ...ALL_CALLS, from: window, ...search }} className={css.number ?? ''} title={t.show}>
            <span className={css.numberName}>{name}</span>
            <span className={`${css.numberValue} ${isBad === true ? css.bad : ''}`}>{value}</span>
            <span className={css.numberMore}>{more}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
