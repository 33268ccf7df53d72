// The tools of one category in the picker, selected together or one by one.
import { useInfiniteQuery } from '@tanstack/react-query';
import { ChevronRight } from 'lucide-react';
import { useMemo, useState } from 'react';
import { Button as AriaButton, Disclosure, DisclosurePanel, Heading } from 'react-aria-components';

import type { Schemas } from '@/api/client';
import { Button } from '@/components/Button';
import { Checkbox } from '@/components/Field';
import { CATEGORIES, categoryName } from '@/i18n/categories';
import { useFormat } from '@/i18n/format';
import { useTexts, texts } from '@/i18n/language';

import { PickerRow } from './PickerRow';
import css from './ToolPicker.module.css';
import type { PickerProps } from './ToolPicker';
import { toolsQuery } from './queries';

const TEXTS = texts(
  {
    all: (category: string) => `All tools of ${category}`, more: (left: string) => `Show more (${left} left)`,
    some: (chosen: string, all: string) => `${chosen} of ${all}`,
  },
  {
    all: (category: string) => `“${category}”的全部工具`, more: (left: string) => `显示更多（还有 ${left} 个）`,
    some: (chosen: string, all: string) => `${chosen} / ${all}`,
  },
);

const PAGE_SIZE = 50;

export interface PickerGroupProps extends PickerProps {
  group: Schemas['CategoryList']['items'][number];
  isOpenAtFirst: boolean;
}

export function PickerGroup({ group, isOpenAtFirst, chosen, choose }: PickerGroupProps) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const [isOpen, setIsOpen] = useState(isOpenAtFirst);
  const name = categoryName(useTexts(CATEGORIES), group.category);
  const count = group.tools.filter((tool) => chosen.has(tool.id)).length;
  return (
    <Disclosure className={css.group ?? ''} isExpanded={isOpen} onExpandedChange={setIsOpen}>
      <div className={css.groupHeader}>
        <Checkbox
          label={t.all(name)} isLabelHidden isSelected={count === group.count} isIndeterminate={count > 0 && count < group.count}
          onChange={() => choose(group.tools, count < group.count)}
        />
        <Heading level={3} className={css.groupName ?? ''}>
          <AriaButton slot="trigger" className={css.trigger ?? ''}>
            {name}
            <span className={css.groupCount}>{t.some(format.count(count), format.count(group.count))}</span>
            <ChevronRight size={15} aria-hidden className={css.arrow} />
          </AriaButton>
        </Heading>
      </div>
      <DisclosurePanel>{isOpen && <Rows group={group} chosen={chosen} choose={choose} />}</DisclosurePanel>
    </Disclosure>
  );
}

/** The category lists all names; descriptions are fetched page by page. */
function Rows({ group, chosen, choose }: Omit<PickerGroupProps, 'isOpenAtFirst'>) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const [visibleCount, setVisibleCount] = useState(PAGE_SIZE);
  const described = useInfiniteQuery(toolsQuery({ category: group.category }));
  const details = useMemo(
    () => new Map(described.data?.pages.flatMap((page) => page.items.map((tool): [string, Schemas['Tool']] => [tool.id, tool]))),
    [described.data],
  );
  const left = group.tools.length - visibleCount;
  const more = () => {
    setVisibleCount(visibleCount + PAGE_SIZE);
    if (described.hasNextPage) void described.fetchNextPage();
  };
  return (
    <div className={css.rows}>
      {group.tools.slice(0, visibleCount).map((tool) => (
        <PickerRow
          key={tool.id} tool={tool} description={details.get(tool.id)?.description} isOff={details.get(tool.id)?.isActive === false}
          isChosen={chosen.has(tool.id)} choose={choose}
        />
      ))}
      {left > 0 && <Button small look="quiet" onPress={more}>{t.more(format.count(left))}</Button>}
    </div>
  );
}
