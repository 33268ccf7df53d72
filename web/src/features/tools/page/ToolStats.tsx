// How a tool did in the last day; each number leads to the calls behind it.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

import { useEvents } from '@/api/live';
import { useFormat } from '@/i18n/format';
import { useWords, words } from '@/i18n/language';

import { toolStatsQuery } from './stats';
import type { Tool } from './tool';
import css from './ToolStats.module.css';

const WORDS = words(
  { label: 'The last 24 hours', calls: 'Calls, 24 h', errors: 'Errors', p95: '95% within', none: '–' },
  { label: '最近 24 小时', calls: '24 小时调用', errors: '错误率', p95: '95% 耗时', none: '–' },
);

/** The server counts a call a second or two after it; many calls are asked for once. */
const PAUSE = 3000;

const NO_FILTER = { agent: undefined, kind: undefined, source: undefined, to: undefined, q: undefined, call: undefined };

export function ToolStats({ tool }: { tool: Tool }) {
  const t = useWords(WORDS);
  const format = useFormat();
  useCallsOf(tool.name);
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

/** Asks again for what calls of this tool change, once for all that end within a moment. */
function useCallsOf(name: string): void {
  const queries = useQueryClient();
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(waiting.current), []);
  useEvents(({ type, tool }) => {
    if (tool !== name || !/^tool\.call\.(completed|failed|cancelled)$/.test(type)) return;
    waiting.current ??= setTimeout(() => {
      waiting.current = undefined;
      void queries.invalidateQueries({ queryKey: ['stats', 'tool'] });
      void queries.invalidateQueries({ queryKey: ['calls', 'latest'] });
    }, PAUSE);
  });
}
