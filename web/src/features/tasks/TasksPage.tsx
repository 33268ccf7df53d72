// Tasks: calls in the background with their status, and the details of the open task.
import { getRouteApi } from '@tanstack/react-router';
import { ListTodo, SearchX } from 'lucide-react';
import { useState } from 'react';

import { Button } from '@/components/Button';
import { Empty } from '@/components/Note';
import { Card, LoadFailed, Loading, Page } from '@/components/Page';
import { useRowKeys } from '@/components/rowKeys';
import { Segmented } from '@/components/Segmented';
import { ToolFilter } from '@/components/ToolFilter';
import { texts, useTexts } from '@/i18n/language';

import { TaskList } from './TaskList';
import { TaskPanel } from './TaskPanel';
import css from './TasksPage.module.css';
import { type View, viewOf, VIEWS } from './tasks';
import { useTasks } from './useTasks';

const TEXTS = texts(
  {
    title: 'Tasks', about: 'Background calls.', view: 'Status', all: 'All', waiting: 'Waiting', running: 'Running', failed: 'Failed',
    unknown: 'Unknown', dead: 'Dead letters', nothing: 'No tasks yet', clear: 'Show all tasks', more: 'Loading more…',
    nothingText: 'Calls with the option mode: "async", and calls of tools that run in the background or need approval, are tasks and appear here.',
    noMatch: 'No matching tasks', noMatchText: 'There may be tasks with another status.',
  },
  {
    title: '任务', about: '无人等待也会继续执行的调用。', view: '显示哪些任务', all: '全部', waiting: '等待中', running: '运行中', failed: '失败',
    unknown: '结果未知', dead: '死信', nothing: '还没有任务', clear: '显示全部任务', more: '正在加载更多…',
    nothingText: '以 mode: "async" 选项发起的调用，以及在后台运行或需要先请人确认的工具调用，都是任务，会出现在这里。',
    noMatch: '没有符合条件的任务', noMatchText: '其他状态的任务可能仍然存在。',
  },
);

const route = getRouteApi('/inside/tasks');

export function TasksPage() {
  const t = useTexts(TEXTS);
  const { view: word, tool, task: openId } = route.useSearch();
  const view = viewOf(word);
  const navigate = route.useNavigate();
  const [goal, setGoal] = useState<{ id: string }>();
  const tasks = useTasks(view, tool);
  const filter = (change: { view?: View; tool?: string | undefined }) => {
    void navigate({
      search: (old) => {
        const next = { ...old, ...change };
        return { ...next, view: next.view === 'all' ? undefined : next.view };
      },
      replace: true, resetScroll: false,
    });
  };
  const open = (id: string | undefined) => {
    void navigate({ search: (old) => ({ ...old, task: id }), replace: openId !== undefined && id !== undefined, resetScroll: false });
  };
  const current = openId ?? goal?.id;
  const move = (by: number) => {
    const at = tasks.rows.findIndex((row) => row.id === current);
    const next = tasks.rows[at < 0 ? 0 : at + by];
    if (next === undefined) return;
    if (openId === undefined) setGoal({ id: next.id });
    else open(next.id);
  };
  useRowKeys(move, openId !== undefined);
  const close = () => {
    if (openId !== undefined) setGoal({ id: openId });
    open(undefined);
  };
  const isFiltered = view !== 'all' || tool !== undefined;
  const isEmpty = tasks.data !== undefined && tasks.rows.length === 0;
  return (
    <Page title={t.title} about={t.about}>
      <div className={css.filters} role="search">
        <Segmented label={t.view} value={view} options={VIEWS.map((value) => ({ value, label: t[value] }))} onChange={(next) => filter({ view: next })} />
        <div className={css.tool}><ToolFilter value={tool} onChange={(next) => filter({ tool: next })} /></div>
        {tool !== undefined && <Button look="quiet" small onPress={() => filter({ view: 'all', tool: undefined })}>{t.clear}</Button>}
      </div>
      {tasks.error !== null && <LoadFailed error={tasks.error} again={() => void tasks.refetch()} />}
      {tasks.isPending && <Loading />}
      {tasks.rows.length > 0 && (
        <Card flush><TaskList rows={tasks.rows} openId={openId} currentId={current} onNearEnd={tasks.onNearEnd} goal={goal} /></Card>
      )}
      {isEmpty && !isFiltered && <Empty icon={<ListTodo />} title={t.nothing}>{t.nothingText}</Empty>}
      {isEmpty && isFiltered && (
        <Empty icon={<SearchX />} title={t.noMatch} action={<Button onPress={() => filter({ view: 'all', tool: undefined })}>{t.clear}</Button>}>
          {t.noMatchText}
        </Empty>
      )}
      {tasks.isFetchingNextPage && <p className={css.more} role="status">{t.more}</p>}
      <TaskPanel id={openId} onClose={close} onMove={move} />
    </Page>
  );
}
