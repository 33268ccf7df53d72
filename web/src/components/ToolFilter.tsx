// A combo box that filters by tool. Tools are searched on the server, since there may be ten thousand.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { ChevronDown } from 'lucide-react';
import { useDeferredValue, useState } from 'react';
import { Button, ComboBox, Input, ListBox, ListBoxItem, Popover } from 'react-aria-components';

import { api, ask } from '@/api/client';
import { texts, useTexts } from '@/i18n/language';

import field from './Field.module.css';
import { usePageStaysOpen } from './usePageStaysOpen';
import css from './ToolFilter.module.css';

const TEXTS = texts(
  { tool: 'Tool', any: 'Any tool', none: 'No tool with this name. Press Enter to filter by it anyway.' },
  { tool: '工具', any: '全部工具', none: '没有这个名称的工具。按回车仍可按此名称查找。' },
);

const MAX_ITEMS = 50;

export function ToolFilter({ value, onChange }: { value: string | undefined; onChange: (tool: string | undefined) => void }) {
  const t = useTexts(TEXTS);
  const onOpenChange = usePageStaysOpen();
  const [typed, setTyped] = useState<string>();
  const q = useDeferredValue(typed ?? '');
  const { data = [] } = useQuery({
    queryKey: ['tools', 'names', q],
    enabled: typed !== undefined,
    queryFn: async () => {
      const query = { limit: MAX_ITEMS, ...(q === '' ? {} : { q }) };
      return (await ask(api.GET('/api/tools', { params: { query } }))).items.map(({ name }) => ({ name }));
    },
    placeholderData: keepPreviousData,
  });
  const choose = (name: string) => {
    // Set immediately, not when the address has changed: a text that changes by itself would open the list
    // again.
    setTyped(name);
    if (name !== value) onChange(name);
  };
  return (
    <ComboBox
      aria-label={t.tool} items={data} inputValue={typed ?? value ?? ''} allowsCustomValue allowsEmptyCollection menuTrigger="focus"
      onOpenChange={onOpenChange}
      onInputChange={(text) => setTyped(text)}
      onFocus={() => setTyped('')}
      onBlur={() => setTyped(undefined)}
      value={value ?? null} onChange={(key) => key !== null && choose(String(key))}
      onKeyDown={(event) => {
        const isOnOption = event.target instanceof Element && event.target.hasAttribute('aria-activedescendant');
        if (event.key === 'Enter' && !isOnOption && typed !== undefined && typed.trim() !== '') choose(typed.trim());
      }}
      className={css.combo ?? ''}
    >
      <Input className={`${field.input} ${css.comboInput}`} placeholder={value ?? t.any} />
      <Button className={css.comboButton ?? ''}><ChevronDown size={15} aria-hidden /></Button>
      <Popover className={field.popover ?? ''}>
        <ListBox className={`${field.list} ${css.tools}`} renderEmptyState={() => <p className={css.none}>{t.none}</p>}>
          {(tool: { name: string }) => <ListBoxItem id={tool.name} className={field.option ?? ''} textValue={tool.name}>{tool.name}</ListBoxItem>}
        </ListBox>
      </Popover>
    </ComboBox>
  );
}
