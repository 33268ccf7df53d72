// The live call log of the space, with the details of the open call.
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { Activity, ArrowUp, Pause, Play, SearchX } from 'lucide-react';
import { type RefObject, useCallback, useMemo, useRef, useState } from 'react';

import { useStreamState } from '@/api/liveEvents';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { Empty } from '@/components/Note';
import { Card, LoadFailed, Loading, Page } from '@/components/Page';
import { useRowKeys } from '@/components/rowKeys';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import { CallList } from './CallList';
import { CallPanel } from './CallPanel';
import css from './CallsPage.module.css';
import { FilterBar } from './FilterBar';
import { type Filters, NO_FILTERS, onlyFilters } from './filters';
import { LogEnd } from './LogEnd';
import { type Following, useLog } from './useLog';
import { useReleaseAtTop } from './useReleaseAtTop';

const TEXTS = texts(
  {
    title: 'Calls', about: 'All tool calls, live.', live: 'Live', paused: 'Paused', pause: 'Pause updates', resume: 'Follow new calls',
    fresh: (count: number, text: string) => (count === 1 ? '1 new call' : `${text} new calls`), many: (text: string) => `More than ${text} new calls`,
    nothing: 'No calls yet', nothingText: 'Calls by agents, by clients and by you appear here automatically.', nothingOthers: 'Calls by agents, clients and other users appear here automatically.', tryOne: 'Try the calculator',
    noMatch: 'No call matches', noMatchText: 'Try fewer filters or a longer time range.', clear: 'Clear all filters',
  },
  {
    title: '调用', about: '每一次工具调用，实时呈现。', live: '实时', paused: '已暂停', pause: '暂停：不再显示新调用', resume: '跟随新调用',
    fresh: (_count: number, text: string) => `${text} 条新调用`, many: (text: string) => `超过 ${text} 条新调用`,
    nothing: '还没有调用', nothingText: '一旦智能体、客户端或你调用了工具，记录就会自动出现在这里。', nothingOthers: '一旦智能体、客户端或其他人调用了工具，记录就会自动出现在这里。', tryOne: '试用计算器',
    noMatch: '没有符合条件的调用', noMatchText: '减少筛选条件或放宽时间范围，可能会看到更多。', clear: '清除全部筛选',
  },
);

const route = getRouteApi('/inside/calls');

export function CallsPage() {
  const t = useTexts(TEXTS);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [isLive, setIsLive] = useState(true);
  const [goal, setGoal] = useState<{ id: string }>();
  const container = useRef<HTMLDivElement>(null);
  const { tool, agent, status, kind, source, from, to, q, call } = search;
  const filters = useMemo(() => onlyFilters({ tool, agent, status, kind, source, from, to, q }), [tool, agent, status, kind, source, from, to, q]);
  const log = useLog(filters, isLive, () => isReading(container.current));
  const base = useBase(filters);
  useReleaseAtTop(container, log.release);

  const filter = useCallback((change: Partial<Filters>) => {
    void navigate({ search: (old) => ({ ...old, ...change }), replace: true, resetScroll: false });
  }, [navigate]);
  const open = (id: string | undefined) => {
    void navigate({ search: (old) => ({ ...old, call: id }), replace: call !== undefined && id !== undefined, resetScroll: false });
  };
  const current = call ?? goal?.id;
  const move = (by: number) => {
    const at = log.rows.findIndex((row) => row.id === current);
    const next = log.rows[at < 0 ? 0 : at + by];
    if (next === undefined) return;
    if (call === undefined) setGoal({ id: next.id });
    else open(next.id);
  };
  useRowKeys(move, call !== undefined);
  const close = () => {
    if (call !== undefined) setGoal({ id: call });
    open(undefined);
  };
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  return (
    <Page title={t.title} about={t.about} actions={<LiveSwitch isLive={isLive} onChange={setIsLive} />}>
      <FilterBar filters={filters} onChange={filter} />
      <NewCalls log={log} container={container} />
      {log.error !== null && <LoadFailed error={log.error} again={log.rows.length === 0 ? log.again : log.fetchMore} />}
      {log.isPending && log.error === null && <Loading />}
      {log.rows.length > 0 && (
        <Card flush>
          <CallList
            rows={log.rows} base={base} onOpen={open} openId={call} currentId={current} container={container} onNearEnd={log.onNearEnd} goal={goal}
          />
        </Card>
      )}
      {log.rows.length === 0 && !log.isPending && !log.hasMore && <NoCalls isFiltered={isFiltered} clear={() => filter(NO_FILTERS)} />}
      <LogEnd log={log} />
      <CallPanel id={call} onClose={close} onMove={move} />
    </Page>
  );
}

/** Returns true if the user is scrolled down, or has the focus on a row. */
function isReading(container: HTMLElement | null): boolean {
  return container !== null && (container.getBoundingClientRect().top < 0 || container.contains(document.activeElement));
}

/** The address of the list with its filters; the call's id is appended. */
function useBase(filters: Filters): string {
  const router = useRouter();
  return useMemo(() => {
    const { href } = router.buildLocation({ to: '/calls', search: { ...NO_FILTERS, ...filters, call: undefined } });
    return `${href}${href.includes('?') ? '&' : '?'}`;
  }, [router, filters]);
}

function LiveSwitch({ isLive, onChange }: { isLive: boolean; onChange: (isLive: boolean) => void }) {
  const t = useTexts(TEXTS);
  const isOpen = useStreamState() === 'open';
  return (
    <Button
      aria-label={`${isLive ? t.live : t.paused}. ${isLive ? t.pause : t.resume}`} onPress={() => onChange(!isLive)}
      icon={isLive ? <Pause aria-hidden /> : <Play aria-hidden />}
    >
      <span className={css.live}><span className={`${css.dot} ${isLive && isOpen ? css.on : ''}`} aria-hidden />{isLive ? t.live : t.paused}</span>
    </Button>
  );
}

/** The number of new calls, which are held back so that the rows being read do not move. */
function NewCalls({ log, container }: { log: Following; container: RefObject<HTMLDivElement | null> }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const text = format.count(log.waiting);
  const show = () => {
    log.release();
    window.scrollTo({ top: 0 });
    // The focus goes to the list and not to a row, since a focused row would hold new calls back.
    container.current?.parentElement?.focus({ preventScroll: true });
  };
  return (
    <div className={css.fresh} role="status">
      {log.waiting > 0 && (
        <Button look="primary" small icon={<ArrowUp aria-hidden />} onPress={show}>
          {log.isWaitingMore ? t.many(text) : t.fresh(log.waiting, text)}
        </Button>
      )}
    </div>
  );
}

function NoCalls({ isFiltered, clear }: { isFiltered: boolean; clear: () => void }) {
  const t = useTexts(TEXTS);
  const navigate = route.useNavigate();
  const mayCall = useMay('caller');
  if (isFiltered) {
    return <Empty icon={<SearchX />} title={t.noMatch} action={<Button onPress={clear}>{t.clear}</Button>}>{t.noMatchText}</Empty>;
  }
  const tryOne = () => void navigate({ to: '/tools/$id', params: { id: 'calculator' }, search: { tab: 'try' } });
  const action = mayCall && <Button look="primary" onPress={tryOne}>{t.tryOne}</Button>;
  return <Empty icon={<Activity />} title={t.nothing} action={action}>{mayCall ? t.nothingText : t.nothingOthers}</Empty>;
}
