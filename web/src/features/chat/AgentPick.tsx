// The combo box for the agent of a conversation, or for a model without an agent.
import { useQuery } from '@tanstack/react-query';
import { Bot, ChevronDown } from 'lucide-react';
import { useDeferredValue, useState } from 'react';
import { Button, ComboBox, Input, ListBox, ListBoxItem, Popover, Text } from 'react-aria-components';

import type { Schemas } from '@/api/client';
import field from '@/components/Field.module.css';
import { usePageStaysOpen } from '@/components/usePageStaysOpen';
import { texts, useTexts } from '@/i18n/language';

import css from './NewChat.module.css';
import { activeAgentsQuery } from './queries';

const TEXTS = texts(
  { agent: 'Agent', none: 'No agent', noneText: 'The default model, without tools.', empty: 'No agent with this name.' },
  { agent: '智能体', none: '不使用智能体', noneText: '直接使用默认模型，不带工具。', empty: '没有这个名称的智能体。' },
);

export type Agent = Schemas['Agent'];

const NONE = 'none';

const matches = ({ name, description }: Agent, q: string): boolean => `${name}\n${description}`.toLowerCase().includes(q.toLowerCase());

interface Props {
  agent: Agent | undefined;
  onChoose: (id: string | undefined) => void;
}

export function AgentPick({ agent, onChoose }: Props) {
  const t = useTexts(TEXTS);
  const onOpenChange = usePageStaysOpen();
  const [typed, setTyped] = useState<string>();
  const q = typed ?? '';
  const { data = [] } = useQuery(activeAgentsQuery(useDeferredValue(q)));
  // Also filtered here: until the server responds, the list belongs to the previous text, and Enter must not
  // choose from it.
  const options = [
    ...(q === '' ? [{ id: NONE, name: t.none, description: t.noneText }] : []),
    ...data.filter((one) => matches(one, q)).map(({ id, name, description }) => ({ id, name, description })),
  ];
  const agentName = agent?.name ?? t.none;
  return (
    <ComboBox
      aria-label={t.agent} items={options} inputValue={typed ?? agentName} allowsEmptyCollection menuTrigger="focus" onOpenChange={onOpenChange}
      onInputChange={setTyped} onFocus={() => setTyped('')} onBlur={() => setTyped(undefined)} value={agent?.id ?? NONE}
      onChange={(key) => {
        if (key === null) return;
        setTyped(undefined);
        onChoose(key === NONE ? undefined : String(key));
      }}
      className={css.pick ?? ''}
    >
      <Bot size={15} aria-hidden className={css.pickIcon} />
      <Input className={css.pickInput ?? ''} placeholder={agentName} />
      <Button className={css.pickOpen ?? ''}><ChevronDown size={15} aria-hidden /></Button>
      <Popover className={field.popover ?? ''}>
        <ListBox className={`${field.list} ${css.agents}`} renderEmptyState={() => <p className={css.empty}>{t.empty}</p>}>
          {(one: { id: string; name: string; description: string }) => (
            <ListBoxItem id={one.id} className={field.option ?? ''} textValue={one.name}>
              <span className={field.optionText}>
                <Text slot="label">{one.name}</Text>
                {one.description !== '' && <Text slot="description" className={`${field.description} ${css.oneLine}`}>{one.description}</Text>}
              </span>
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  );
}
