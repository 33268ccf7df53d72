// The tool picker: all tools by category, with search on the server.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { memo, useState } from 'react';

import { Button } from '@/components/Button';
import { SearchField } from '@/components/Field';
import { Loading, LoadFailed } from '@/components/Page';
import { useDebounced } from '@/components/useDebounced';
import { useFormat } from '@/i18n/format';
import { useTexts, texts } from '@/i18n/language';

import { PickerGroup } from './PickerGroup';
import { PickerRow } from './PickerRow';
import css from './ToolPicker.module.css';
import { categoriesQuery, toolsQuery } from './queries';

const TEXTS = texts(
  {
    search: 'Search tools', more: (left: string) => `Show more (${left} left)`, nothing: (q: string) => `No tool has “${q}” in its name or description.`,
    found: (count: number, shown: string) => (count === 1 ? '1 tool found' : `${shown} tools found`),
  },
  {
    search: '搜索工具', more: (left: string) => `显示更多（还有 ${left} 个）`, nothing: (q: string) => `没有名称或描述包含“${q}”的工具。`,
    found: (_count: number, shown: string) => `找到 ${shown} 个工具`,
  },
);

export type Choose = (tools: readonly { id: string; name: string }[], isChosen: boolean) => void;

export interface PickerProps {
  chosen: ReadonlySet<string>;
  choose: Choose;
}

/** Up to this number of tools, all categories are expanded. */
const MAX_EXPANDED_TOOLS = 60;

export const ToolPicker = memo(function ToolPicker({ chosen, choose }: PickerProps) {
  const t = useTexts(TEXTS);
  const [search, setSearch] = useState('');
  const q = useDebounced(search.trim());
  return (
    <div className={css.picker}>
      <div className={css.search}><SearchField label={t.search} value={search} onChange={setSearch} /></div>
      <div className={css.scroll}>
        {q === '' ? <Categories chosen={chosen} choose={choose} /> : <Found q={q} chosen={chosen} choose={choose} />}
      </div>
    </div>
  );
});

function Categories({ chosen, choose }: PickerProps) {
  const categories = useQuery(categoriesQuery);
  if (categories.error !== null) return <LoadFailed error={categories.error} again={() => void categories.refetch()} />;
  if (categories.data === undefined) return <Loading />;
  const isFew = categories.data.reduce((sum, { count }) => sum + count, 0) <= MAX_EXPANDED_TOOLS;
  return categories.data.map((group) => (
    <PickerGroup key={group.category} group={group} isOpenAtFirst={isFew} chosen={chosen} choose={choose} />
  ));
}

function Found({ q, chosen, choose }: PickerProps & { q: string }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const found = useInfiniteQuery({ ...toolsQuery({ q }), placeholderData: (before) => before });
  if (found.error !== null) return <LoadFailed error={found.error} again={() => void found.refetch()} />;
  if (found.data === undefined) return <Loading />;
  const tools = found.data.pages.flatMap((page) => page.items);
  const total = found.data.pages[0]?.total ?? tools.length;
  return (
    <>
      <p className={css.count} role="status">{total === 0 ? t.nothing(q) : t.found(total, format.count(total))}</p>
      {tools.map((tool) => (
        <PickerRow key={tool.id} tool={tool} description={tool.description} isOff={!tool.isActive} isChosen={chosen.has(tool.id)} choose={choose} />
      ))}
      {found.hasNextPage && (
        <Button small look="quiet" isPending={found.isFetchingNextPage} onPress={() => void found.fetchNextPage()}>
          {t.more(format.count(total - tools.length))}
        </Button>
      )}
    </>
  );
}
