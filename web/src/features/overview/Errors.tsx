// Errors: the number by kind, and the most recent ones with their messages.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleX } from 'lucide-react';

import { api, ask, errorText, type Schemas } from '@/api/client';
import { ErrorNote } from '@/components/Note';
import { Card } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { useKinds } from '@/i18n/kinds';
import { texts, useTexts } from '@/i18n/language';
import type { Window } from '@/i18n/windows';

import { Bars } from './Bars';
import css from './OverviewPage.module.css';
import { ALL_CALLS } from './windows';

const TEXTS = texts(
  { kinds: 'Errors by kind', last: 'Last errors', none: 'No call failed.', all: 'All failed calls' },
  { kinds: '按类型统计的错误', last: '最近的错误', none: '没有失败的调用。', all: '全部失败的调用' },
);

const MAX_ROWS = 8;

export function Errors({ stats, window }: { stats: Schemas['Stats']; window: Window }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const kinds: Record<string, string> = useKinds();
  const bars = Object.entries(stats.totals.errorsByKind).sort(([, a], [, b]) => b - a).map(([kind, count]) => ({
    id: kind, name: kinds[kind] ?? kind, size: count, text: format.count(count), search: { ...ALL_CALLS, from: window, status: 'failed', kind },
  }));
  return (
    <div className={css.errors}>
      <Card title={t.kinds}><Bars tone="bad" bars={bars} empty={t.none} /></Card>
      <LastErrors />
    </div>
  );
}

function LastErrors() {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const kinds = useKinds();
  const last = useQuery({
    queryKey: ['calls', 'last errors'],
    queryFn: async () => (await ask(api.GET('/api/tool-calls', { params: { query: { status: 'failed', limit: MAX_ROWS } } }))).items,
    staleTime: 0,
  });
  const all = <Link to="/calls" search={{ ...ALL_CALLS, status: 'failed' }} className={css.all ?? ''}>{t.all}</Link>;
  return (
    <Card title={t.last} actions={all} flush>
      {last.error !== null && <ErrorNote>{errorText(last.error)}</ErrorNote>}
      {last.data?.length === 0 && <p className={`quiet ${css.none}`}>{t.none}</p>}
      <ul>
        {last.data?.map((call) => (
          <li key={call.id}>
            <Link to="/calls" search={{ ...ALL_CALLS, status: 'failed', call: call.id }} className={css.last ?? ''}>
              <CircleX size={15} aria-hidden />
              <span className={css.lastWhat}><strong>{call.toolName}</strong> <span>{call.error?.message ?? ''}</span></span>
              {call.error !== null && <span className={css.lastKind}>{kinds[call.error.kind]}</span>}
              <time dateTime={call.startedAt} className={css.lastTime}>{format.ago(call.startedAt)}</time>
            </Link>
          </li>
        ))}
      </ul>
    </Card>
  );
}
