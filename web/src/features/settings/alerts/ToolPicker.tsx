// A combo box for one tool, searched by name; empty means all tools of the space.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { ChevronDown } from 'lucide-react';
import { useDeferredValue, useState } from 'react';
import { Button, ComboBox, FieldError, Input, Label, ListBox, ListBoxItem, Popover, Text } from 'react-aria-components';

import { api, ask } from '@/api/client';

import css from './ToolPicker.module.css';

const MAX_ITEMS = 50;

export interface ToolPickerProps {
  label: string;
  description: string;
  placeholder: string;
  /** The tool's name in the field; empty for none. */
  value: string;
  onChange: (name: string) => void;
  error?: string | undefined;
}

export function ToolPicker({ label, description, placeholder, value, onChange, error }: ToolPickerProps) {
  const [isTyped, setIsTyped] = useState(false);
  // The initial value is not a search text.
  const q = useDeferredValue(isTyped ? value : '');
  const found = useQuery({
    queryKey: ['tools', 'watched', q],
    queryFn: () => ask(api.GET('/api/tools', { params: { query: { limit: MAX_ITEMS, ...(q === '' ? {} : { q }) } } })),
    placeholderData: keepPreviousData,
  });
  const items = found.data?.items.map(({ id, name }) => ({ id, name })) ?? [];
  return (
    <ComboBox
      className={css.field ?? ''} inputValue={value} items={items} menuTrigger="focus" allowsCustomValue allowsEmptyCollection={false}
      isInvalid={error !== undefined} validationBehavior="aria" defaultFilter={() => true}
      onInputChange={(text) => {
        setIsTyped(true);
        onChange(text);
      }}
    >
      <Label className={css.label ?? ''}>{label}</Label>
      <div className={css.group}>
        <Input className={css.input ?? ''} placeholder={placeholder} autoComplete="off" spellCheck={false} />
        <Button className={css.open ?? ''}><ChevronDown size={15} aria-hidden /></Button>
      </div>
      <Text slot="description" className={css.description ?? ''}>{description}</Text>
      {error !== undefined && <FieldError className={css.error ?? ''}>{error}</FieldError>}
      <Popover className={css.popover ?? ''}>
        <ListBox<{ id: string; name: string }> className={css.list ?? ''}>
          {(tool) => <ListBoxItem className={css.option ?? ''} textValue={tool.name}>{tool.name}</ListBoxItem>}
        </ListBox>
      </Popover>
    </ComboBox>
  );
}
