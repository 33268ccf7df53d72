// The page of a tool: facts, statistics, and the tabs Try it, Definition and Versions.
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Hammer } from 'lucide-react';
import { lazy, type ReactNode, Suspense } from 'react';

import { ApiError } from '@/api/client';
import { useMay } from '@/api/me';
import { Empty } from '@/components/Note';
import { LoadFailed, Loading, Page } from '@/components/Page';
import { Tabs } from '@/components/Tabs';
import { useLanguage, useTexts, texts } from '@/i18n/language';
import { titleOf } from '@/i18n/title';

import { ActiveSwitch } from './page/ActiveSwitch';
import { CircuitNote } from './page/CircuitNote';
import { isBuiltIn, type Tool, toolQuery } from './page/tool';
import { ToolFacts } from './page/ToolFacts';
import head from './page/ToolHead.module.css';
import { ToolMenu } from './page/ToolMenu';
import { ToolStats } from './page/ToolStats';
import { TryTab } from './try/TryTab';

const EditTab = lazy(() => import('./edit/EditTab').then(({ EditTab: Tab }) => ({ default: Tab })));
const VersionsTab = lazy(() => import('./versions/VersionsTab').then(({ VersionsTab: Tab }) => ({ default: Tab })));

const TEXTS = texts(
  {
    tool: 'Tool', tools: 'Tools', parts: 'Parts of the tool', try: 'Try it', arguments: 'Arguments', definition: 'Definition', versions: 'Versions',
    gone: 'Tool not found', goneText: 'It may have been deleted or renamed, or it is in another space.', back: 'Show all tools',
  },
  {
    tool: '工具', tools: '工具', parts: '工具的各部分', try: '试用', arguments: '参数', definition: '定义', versions: '版本',
    gone: '没有这个工具', goneText: '它可能已被删除或改名，或者在另一个空间中。', back: '查看所有工具',
  },
);

const TABS = ['try', 'definition', 'versions'] as const;
type TabName = (typeof TABS)[number];

const route = getRouteApi('/inside/tools/$id');

export function ToolPage() {
  const t = useTexts(TEXTS);
  const { id } = route.useParams();
  const { data, error, refetch } = useQuery(toolQuery(id));
  if (data !== undefined) return <ToolView tool={data.data} tag={data.tag} id={id} />;
  if (error instanceof ApiError && error.status === 404) {
    const back = <Link to="/tools" search={{ q: undefined, category: undefined }}>{t.back}</Link>;
    return <Page title={t.tool}><Empty icon={<Hammer />} title={t.gone} action={back}>{t.goneText}</Empty></Page>;
  }
  return (
    <Page title={t.tool}>
      {error === null ? <Loading /> : <LoadFailed error={error} again={() => void refetch()} />}
    </Page>
  );
}

function ToolView({ tool, tag, id }: { tool: Tool; tag: string | null; id: string }) {
  const t = useTexts(TEXTS);
  const { language } = useLanguage();
  const { tab, part } = route.useSearch();
  const navigate = route.useNavigate();
  const mayCall = useMay('caller');
  const open: TabName = TABS.find((name) => name === tab) ?? 'try';
  const content: Record<TabName, ReactNode> = {
    try: <TryTab tool={tool} />,
    definition: <EditTab tool={tool} tag={tag} part={part} />,
    versions: <VersionsTab tool={tool} />,
  };
  // Built-in tools have no versions.
  const names = TABS.filter((name) => name !== 'versions' || !isBuiltIn(tool));
  return (
    <Page
      title={titleOf(tool, language)} about={<ToolFacts tool={tool} />}
      back={<Link to="/tools" search={{ q: undefined, category: undefined }}>{t.tools}</Link>}
      actions={<ToolSide tool={tool} tag={tag} id={id} isForm={open === 'definition'} />}
    >
      <CircuitNote tool={tool} />
      <Tabs
        label={t.parts} selected={open}
        onSelect={(next) => next !== open && void navigate({ search: { tab: next === 'try' ? undefined : next } })}
        tabs={names.map((name) => ({
          id: name, label: name === 'try' && !mayCall ? t.arguments : t[name], content: <Suspense fallback={<Loading />}>{content[name]}</Suspense>,
        }))}
      />
    </Page>
  );
}

interface ToolSideProps {
  tool: Tool;
  tag: string | null;
  id: string;
  /** The Definition tab is open. It has its own switch; a second one would make its draft outdated. */
  isForm: boolean;
}

function ToolSide({ tool, tag, id, isForm }: ToolSideProps) {
  const mayEdit = useMay('editor');
  return (
    <div className={head.side}>
      <ToolStats tool={tool} />
      {!(isForm && mayEdit && !isBuiltIn(tool)) && <ActiveSwitch tool={tool} tag={tag} id={id} />}
      <ToolMenu tool={tool} />
    </div>
  );
}
