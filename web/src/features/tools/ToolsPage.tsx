// The list of tools: by category or by search, with buttons to create and import.
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Import, Plus, SearchX } from 'lucide-react';
import { useMemo } from 'react';

import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { SearchField } from '@/components/Field';
import { Empty } from '@/components/Note';
import { LoadFailed, Loading, Page } from '@/components/Page';
import { useTexts, texts } from '@/i18n/language';

import { Categories } from './list/Categories';
import { FirstTool } from './list/FirstTool';
import { categoriesQuery, toolsQuery } from './list/pages';
import { isSample } from './list/sample';
import { ToolGrid } from './list/ToolGrid';
import css from './list/ToolsPage.module.css';
import { useSearchText } from './list/useSearchText';
import { isBuiltIn } from './page/tool';

const TEXTS = texts(
  {
    title: 'Tools', about: 'Functions that agents can call.', create: 'New tool', bring: 'Import', search: 'Search tools',
    none: 'No tool matches', noneAbout: 'Search covers names and descriptions.', clear: 'Show all tools',
  },
  {
    title: '工具', about: '智能体能做的事。', create: '新建工具', bring: '导入', search: '搜索工具',
    none: '没有匹配的工具', noneAbout: '搜索范围为名称和描述。', clear: '显示全部工具',
  },
);

const route = getRouteApi('/inside/tools');

export function ToolsPage() {
  const t = useTexts(TEXTS);
  const navigate = route.useNavigate();
  const mayEdit = useMay('editor');
  const { q, category } = route.useSearch();
  const [typed, setTyped] = useSearchText(q, (text) => void navigate({ search: (now) => ({ ...now, q: text }), replace: true }));
  const categories = useQuery(categoriesQuery);
  const isByCategory = q === undefined && category === undefined;
  const list = useInfiniteQuery({
    ...toolsQuery({ q, category }, categories.data ?? []),
    enabled: categories.data !== undefined || !isByCategory,
    placeholderData: keepPreviousData,
  });
  const tools = useMemo(() => list.data?.pages.flatMap((page) => page.tools) ?? [], [list.data]);
  const counts = useMemo(() => new Map(categories.data?.map(({ category: name, count }) => [name, count])), [categories.data]);
  const hasNoCustomTools = isByCategory && list.isSuccess && !list.hasNextPage && tools.every((tool) => isBuiltIn(tool) || isSample(tool));
  const error = list.error ?? categories.error;
  const actions = mayEdit && (
    <>
      <Button icon={<Import aria-hidden />} onPress={() => void navigate({ to: '/tools/import' })}>{t.bring}</Button>
      <Button look="primary" icon={<Plus aria-hidden />} onPress={() => void navigate({ to: '/tools/new' })}>{t.create}</Button>
    </>
  );
  const all = <Button onPress={() => void navigate({ search: { q: undefined, category: undefined } })}>{t.clear}</Button>;
  return (
    <Page title={t.title} about={t.about} actions={actions}>
      <div className={css.bar}>
        <SearchField label={t.search} value={typed} onChange={setTyped} />
        <Categories categories={categories.data ?? []} chosen={category} q={q} />
      </div>
      {hasNoCustomTools && mayEdit && <FirstTool tools={tools} />}
      {error !== null && <LoadFailed error={error} again={() => void Promise.all([categories.refetch(), list.refetch()])} />}
      {list.isPending && error === null && <Loading />}
      {list.isSuccess && tools.length === 0 && !list.hasNextPage && !isByCategory && <Empty icon={<SearchX />} title={t.none} action={all}>{t.noneAbout}</Empty>}
      {(tools.length > 0 || list.hasNextPage) && (
        <ToolGrid
          tools={tools} counts={counts} hasHeadings={isByCategory && !list.isPlaceholderData} hasMore={list.hasNextPage} isFetching={list.isFetching}
          more={() => void list.fetchNextPage()}
        />
      )}
    </Page>
  );
}
