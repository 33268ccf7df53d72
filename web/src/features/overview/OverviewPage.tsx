// The overview of the space: volume, errors and latency of its calls, and what needs attention.
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect } from 'react';
import { ToggleButton, ToggleButtonGroup } from 'react-aria-components';

import { api, ask, type Schemas } from '@/api/client';
import { useEndedCalls } from '@/api/liveEvents';
import { LoadFailed, Loading, Page } from '@/components/Page';
import { texts, useTexts } from '@/i18n/language';
import { useLongWindows, type Window } from '@/i18n/windows';

import { AskPassword } from './AskPassword';
import { Charts } from './Charts';
import { Errors } from './Errors';
import { FiringAlerts } from './FiringAlerts';
import { Numbers } from './Numbers';
import { OpenCircuits } from './OpenCircuits';
import css from './OverviewPage.module.css';
import { Start } from './Start';
import { TasksNow } from './TasksNow';
import { TopTools } from './TopTools';
import { useShortWindows, windowOf, WINDOWS } from './windows';

const TEXTS = texts(
  { title: 'Overview', window: 'Time range', quiet: 'No calls in this time range.' },
  { title: '概览', window: '时间范围', quiet: '这段时间没有调用。' },
);

/** Minimum pause between updates while calls are made. */
const FOLLOW_PAUSE = 4000;
/** Refetch interval without calls, since the time window moves. */
const QUIET_PAUSE = 60_000;
/** Maximum delay until an ended call is counted. */
const UNTIL_COUNTED = 2000;

const route = getRouteApi('/inside/');

export function OverviewPage() {
  const t = useTexts(TEXTS);
  const long = useLongWindows();
  const window = windowOf(route.useSearch().window);
  const queries = useQueryClient();
  const stats = useQuery({
    queryKey: ['stats', window],
    queryFn: () => ask(api.GET('/api/stats', { params: { query: { window } } })),
    placeholderData: keepPreviousData,
    refetchInterval: QUIET_PAUSE,
    // Events of calls are not received while another page is open.
    staleTime: 0,
  });
  useEndedCalls(() => Promise.all([
    queries.invalidateQueries({ queryKey: ['stats'] }),
    queries.invalidateQueries({ queryKey: ['calls', 'last errors'] }),
    queries.invalidateQueries({ queryKey: ['calls', 'any'] }),
    queries.invalidateQueries({ queryKey: ['tasks', 'summary'] }),
  ]), FOLLOW_PAUSE);
  useSecondLook();
  const isNew = useIsNew(stats.data);
  if (isNew === true) return <Start />;
  return (
    <Page title={t.title} about={long[window]} actions={<WindowSwitch window={window} />}>
      {stats.error !== null && <LoadFailed error={stats.error} again={() => void stats.refetch()} />}
      {(stats.isPending || isNew === undefined) && stats.error === null && <Loading />}
      {stats.data !== undefined && isNew === false && (
        <>
          <AskPassword />
          <FiringAlerts />
          <OpenCircuits keys={stats.data.openCircuits} />
          <Numbers stats={stats.data} window={window} />
          <TasksNow />
          {stats.data.totals.calls === 0 && <p className="quiet" role="status">{t.quiet}</p>}
          <Charts stats={stats.data} />
          <TopTools stats={stats.data} window={window} />
          <Errors stats={stats.data} window={window} />
        </>
      )}
    </Page>
  );
}

/** Refetches once shortly after the page was opened, for calls that had ended just before. */
function useSecondLook(): void {
  const queries = useQueryClient();
  useEffect(() => {
    const timer = setTimeout(() => void queries.invalidateQueries({ queryKey: ['stats'] }), UNTIL_COUNTED);
    return () => clearTimeout(timer);
  }, [queries]);
}

/** Returns true if the space never had a call, or `undefined` while that is unknown. */
function useIsNew(stats: Schemas['Stats'] | undefined): boolean | undefined {
  const isQuiet = stats?.totals.calls === 0;
  const any = useQuery({
    queryKey: ['calls', 'any'],
    queryFn: () => ask(api.GET('/api/tool-calls', { params: { query: { limit: 1 } } })),
    enabled: isQuiet,
    staleTime: 0,
  });
  if (stats === undefined) return undefined;
  if (!isQuiet || any.isError) return false;
  return any.data === undefined ? undefined : any.data.items.length === 0 && any.data.nextCursor === null;
}

function WindowSwitch({ window }: { window: Window }) {
  const t = useTexts(TEXTS);
  const short = useShortWindows();
  const long = useLongWindows();
  const navigate = route.useNavigate();
  return (
    <ToggleButtonGroup
      aria-label={t.window} className={css.windows ?? ''} disallowEmptySelection selectedKeys={[window]}
      onSelectionChange={(keys) => {
        const [next] = keys;
        void navigate({ search: { window: typeof next === 'string' ? next : undefined }, replace: true, resetScroll: false });
      }}
    >
      {WINDOWS.map((one) => <ToggleButton key={one} id={one} aria-label={`${long[one]} (${short[one]})`} className={css.window ?? ''}>{short[one]}</ToggleButton>)}
    </ToggleButtonGroup>
  );
}
