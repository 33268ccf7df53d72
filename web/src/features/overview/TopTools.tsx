// Rankings of tools: the busiest, those with most errors, and the slowest.
import { Link } from '@tanstack/react-router';

import type { Schemas } from '@/api/client';
import { Card } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';
import type { Window } from '@/i18n/windows';

import { Bars } from './Bars';
import css from './OverviewPage.module.css';
import { ALL_CALLS } from './windows';

const TEXTS = texts(
  {
    busiest: 'Busiest tools', failing: 'Most failing tools', slowest: 'Slowest tools', unknown: 'Unknown tool', noCalls: 'No calls in this time range.',
    noFailures: 'No call failed.', failed: (count: string, share: string) => `${count} · ${share}`, more: (count: string) => `${count} more tools were called`, all: 'All tools',
  },
  {
    busiest: '最常用的工具', failing: '失败最多的工具', slowest: '最慢的工具', unknown: '不存在的工具', noCalls: '这段时间没有调用。',
    noFailures: '没有失败的调用。', failed: (count: string, share: string) => `${count} · ${share}`, more: (count: string) => `另有 ${count} 个工具被调用`, all: '全部工具',
  },
);

type ToolStats = Schemas['ToolStats'];
const MAX_ROWS = 6;

export function TopTools({ stats, window }: { stats: Schemas['Stats']; window: Window }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const top = (size: (tool: ToolStats) => number, text: (tool: ToolStats) => string, search: { status?: string }) => (
    stats.tools.filter((tool) => size(tool) > 0).sort((a, b) => size(b) - size(a)).slice(0, MAX_ROWS).map((tool) => ({
      id: tool.toolName ?? '', name: tool.toolName ?? t.unknown, size: size(tool), text: text(tool),
      // Unknown tool names are grouped by their error kind.
      search: { ...ALL_CALLS, from: window, ...search, ...(tool.toolName === null ? { kind: 'NotFound' } : { tool: tool.toolName }) },
    }))
  );
  return (
    <div className={css.thirds}>
      <Card title={t.busiest}>
        <Bars bars={top((tool) => tool.calls, (tool) => format.count(tool.calls), {})} empty={t.noCalls} />
        {stats.moreTools > 0 && <p className="quiet small">{t.more(format.count(stats.moreTools))} · <Link to="/tools" search={{ q: undefined, category: undefined }}>{t.all}</Link></p>}
      </Card>
      <Card title={t.failing}>
        <Bars
          tone="bad" empty={t.noFailures}
          bars={top((tool) => tool.errors, (tool) => t.failed(format.count(tool.errors), format.percent(tool.errorRate)), { status: 'failed' })}
        />
      </Card>
      <Card title={t.slowest}>
        <Bars tone="warn" bars={top((tool) => tool.p95 ?? 0, (tool) => format.duration(tool.p95 ?? 0), {})} empty={t.noCalls} />
      </Card>
    </div>
  );
}
