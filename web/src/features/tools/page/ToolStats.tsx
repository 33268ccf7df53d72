// Statistics of a tool in the last 24 hours; each number links to its calls.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

import { useEvents } from '@/api/liveEvents';
import { useFormat } from '@/i18n/format';
import { useTexts, texts } from '@/i18n/language';

import { toolStatsQuery } from './stats';
import type { Tool } from './tool';
import css from './ToolStats.module.css';

const TEXTS = texts(
  { label: 'The last 24 hours', calls: 'Calls, 24 h', errors: 'Errors', p95: 'p95', none: '–' },
  { label: '最近 24 小时', calls: '24 小时调用', errors: '错误率', p95: '95% 耗时', none: '–' },
);

/** Delay before statistics are fetched again: the server counts calls with a delay, and many calls need only one request. */
const PAUSE = 3000;

const NO_FILTER = { agent: undefined, kind: undefined, source: undefined, to: undefined, q: undefined, call: undefined };

export function ToolStats({ tool }: { tool: Tool }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  useStatsRefresh(tool.name);
  const { data } = useQuery(toolStatsQuery(tool.id));
  const totals = data?.totals;
  const isQuiet = totals === undefined || totals.calls === 0;
  const figures = [
    { label: t.calls, value: totals === undefined ? t.none : format.count(totals.calls) },
    {
      label: t.errors, value: isQuiet ? t.none : format.percent(totals.errorRate), status: 'failed',
      isBad: !isQuiet && totals.errors > 0,
    },
    { label: t.p95, value: isQuiet || totals.p95 === null ? t.none : format.duration(totals.p95) },
  ];
  return (
    <ul className={css.stats} aria-label={t.label}>
      {figures.map(({ label, value, status, isBad }) => (
        <li key={label}>
          <Link to="/calls" search={{ ...NO_FILTER, tool: tool.name, from: data?.from, status }} className={css.figure ?? ''}>
            <span className={css.label}>{label}</span>
            <span className={`${css.value} ${isBad === true ? css.bad : ''}`}>{value}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** Invalidates the statistics after calls of this tool, at most once per pause. */
function useStatsRefresh(name: string): void {
  const queries = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEvents(({ type, tool }) => {
    if (tool !== name || !/^tool\.call\.(completed|failed|cancelled)$/.test(type)) return;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      void queries.invalidateQueries({ queryKey: ['stats', 'tool'] });
      void queries.invalidateQueries({ queryKey: ['calls', 'latest'] });
    }, PAUSE);
  });
}
