// Firing alerts, at the top of the page.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { BellRing } from 'lucide-react';

import { api, ask, type Schemas } from '@/api/client';
import { type Format, useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import css from './OverviewPage.module.css';
import { ALL_CALLS } from './windows';

const TEXTS = texts(
  {
    firing: 'Firing alerts', errorRate: 'Error rate', p95: 'Latency p95', circuitOpen: 'Open circuits', queueDepth: 'Queue depth', deadLetters: 'Dead letters',
    above: (value: string, limit: string) => `${value}, above ${limit}`, since: (ago: string) => `started ${ago}`, everywhere: 'all tools', show: 'Show the calls',
  },
  {
    firing: '触发中的告警', errorRate: '错误率', p95: '延迟 p95', circuitOpen: '熔断数', queueDepth: '队列长度', deadLetters: '死信',
    above: (value: string, limit: string) => `${value}，高于 ${limit}`, since: (ago: string) => `${ago}开始`, everywhere: '全部工具', show: '查看相关调用',
  },
);

type Alert = Schemas['Alert'];
const MAX_ITEMS = 200;

export function FiringAlerts() {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const { data = [] } = useQuery({
    queryKey: ['alerts', 'firing'],
    queryFn: async () => (await ask(api.GET('/api/alerts', { params: { query: { limit: MAX_ITEMS } } }))).items.filter((alert) => alert.state === 'firing'),
  });
  if (data.length === 0) return null;
  return (
    <section className={css.alerts} aria-label={t.firing}>
      {data.map((alert) => (
        <div key={alert.id} className={css.alert}>
          <BellRing size={16} aria-hidden />
          <strong>{alert.name ?? t[alert.metric]}</strong>
          <span>{alert.name === null ? (alert.toolName ?? t.everywhere) : `${t[alert.metric]} · ${alert.toolName ?? t.everywhere}`}</span>
          {alert.value !== null && <span>{t.above(written(alert, alert.value, format), written(alert, alert.above, format))}</span>}
          {alert.since !== null && <span>{t.since(format.ago(alert.since))}</span>}
          <Link to="/calls" search={{ ...ALL_CALLS, from: '1h', tool: alert.toolName ?? undefined, ...(alert.metric === 'errorRate' ? { status: 'failed' } : {}), ...(alert.metric === 'circuitOpen' ? { kind: 'CircuitOpen' } : {}) }}>{t.show}</Link>
        </div>
      ))}
    </section>
  );
}

function written(alert: Alert, value: number, format: Format): string {
  if (alert.metric === 'errorRate') return format.percent(value);
  return alert.metric === 'p95' ? format.duration(value) : format.count(value);
}
