// The filters of the call log: controls, and the active filters with a button to remove each.
import { useQuery } from '@tanstack/react-query';
import { SlidersHorizontal, X } from 'lucide-react';
import { memo, useEffect, useRef, useState } from 'react';
import { Button as AriaButton } from 'react-aria-components';

import { agentNames, useAgentName } from '@/api/names';
import { Button } from '@/components/Button';
import { SearchField, Select } from '@/components/Field';
import { ToolFilter } from '@/components/ToolFilter';
import { useKinds, useSources } from '@/i18n/kinds';
import { texts, useTexts } from '@/i18n/language';

import css from './FilterBar.module.css';
import { type Filters, KINDS, NO_FILTERS, SOURCES, STATUSES, valueAmong } from './filters';
import { TimeRange, useRangeText } from './TimeRange';
import { useStatusTexts } from './texts';

const TEXTS = texts(
  {
    search: 'Search tool names and errors', status: 'Status', kind: 'Error', source: 'Source', agent: 'Agent', tool: 'Tool', time: 'Time', text: 'Text',
    anyStatus: 'Any status', anyKind: 'Any error', anySource: 'Any source', anyAgent: 'Any agent', clear: 'Clear all', active: 'Active filters',
    filters: 'Filters', drop: (what: string, value: string) => `Remove filter ${what} ${value}`,
  },
  {
    search: '搜索工具名和错误', status: '状态', kind: '错误', source: '来源', agent: '智能体', tool: '工具', time: '时间', text: '文字',
    anyStatus: '全部状态', anyKind: '全部错误', anySource: '全部来源', anyAgent: '全部智能体', clear: '全部清除', active: '正在使用的筛选',
    filters: '筛选', drop: (what: string, value: string) => `移除筛选 ${what} ${value}`,
  },
);

const ANY = 'any';
const TYPING_PAUSE = 300;

export interface FilterBarProps {
  filters: Filters;
  onChange: (change: Partial<Filters>) => void;
}

/** Memoized: not rendered again for every new call. */
export const FilterBar = memo(function FilterBar({ filters, onChange }: FilterBarProps) {
  const t = useTexts(TEXTS);
  const [isOpen, setIsOpen] = useState(false);
  const statuses = useStatusTexts();
  const kinds = useKinds();
  const sources = useSources();
  const agents = useQuery(agentNames).data ?? [];
  const anyOf = (label: string, rest: readonly { value: string; label: string }[]) => [{ value: ANY, label }, ...rest];
  const set = (name: keyof Filters) => (value: string) => onChange({ [name]: value === ANY ? undefined : value });
  return (
    <div className={css.filters} role="search">
      <div className={css.first}>
        <TextFilter value={filters.q} onChange={(q) => onChange({ q })} />
        <TimeRange range={{ from: filters.from, to: filters.to }} onChange={onChange} />
        <span className={css.more}>
          <Button icon={<SlidersHorizontal aria-hidden />} aria-expanded={isOpen} onPress={() => setIsOpen(!isOpen)}>{t.filters}</Button>
        </span>
      </div>
      <div className={`${css.choices} ${isOpen ? css.isOpen : ''}`}>
        <ToolFilter value={filters.tool} onChange={(tool) => onChange({ tool })} />
        <Select
          label={t.status} isLabelHidden value={valueAmong(filters.status, STATUSES) ?? ANY} onChange={set('status')}
          options={anyOf(t.anyStatus, STATUSES.map((value) => ({ value, label: statuses[value] })))}
        />
        <Select
          label={t.kind} isLabelHidden value={valueAmong(filters.kind, KINDS) ?? ANY} onChange={set('kind')}
          options={anyOf(t.anyKind, KINDS.map((value) => ({ value, label: kinds[value] })))}
        />
        <Select
          label={t.source} isLabelHidden value={valueAmong(filters.source, SOURCES) ?? ANY} onChange={set('source')}
          options={anyOf(t.anySource, SOURCES.map((value) => ({ value, label: sources[value] })))}
        />
        <Select
          label={t.agent} isLabelHidden value={agents.find(({ id, name }) => id === filters.agent || name === filters.agent)?.id ?? ANY}
          onChange={set('agent')} options={anyOf(t.anyAgent, agents.map(({ id, name }) => ({ value: id, label: name })))}
        />
      </div>
      <Chips filters={filters} onChange={onChange} />
    </div>
  );
});

/** Applies the text after a pause in typing. */
function TextFilter({ value, onChange }: { value: string | undefined; onChange: (value: string | undefined) => void }) {
  const t = useTexts(TEXTS);
  const [typed, setTyped] = useState(value ?? '');
  const [seen, setSeen] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  if (seen !== value) {
    setSeen(value);
    // Takes over a value that changed elsewhere, such as by "Clear all"; the user's own text stays unchanged.
    if ((value ?? '') !== typed.trim()) setTyped(value ?? '');
  }
  const type = (text: string) => {
    setTyped(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(text.trim() === '' ? undefined : text.trim()), TYPING_PAUSE);
  };
  return <div className={css.text}><SearchField label={t.search} value={typed} onChange={type} /></div>;
}

function Chips({ filters, onChange }: FilterBarProps) {
  const t = useTexts(TEXTS);
  const statuses: Record<string, string> = useStatusTexts();
  const kinds: Record<string, string> = useKinds();
  const sources: Record<string, string> = useSources();
  const agentName = useAgentName();
  const rangeText = useRangeText();
  const chips: { id: string; what: string; value: string; without: Partial<Filters> }[] = [];
  const add = (id: keyof Filters, what: string, name: (value: string) => string | undefined) => {
    const value = filters[id];
    if (value !== undefined) chips.push({ id, what, value: name(value) ?? value, without: { [id]: undefined } });
  };
  add('tool', t.tool, (value) => value);
  add('agent', t.agent, agentName);
  add('status', t.status, (value) => statuses[value]);
  add('kind', t.kind, (value) => kinds[value]);
  add('source', t.source, (value) => sources[value]);
  if (filters.from !== undefined || filters.to !== undefined) {
    const value = rangeText({ from: filters.from, to: filters.to });
    chips.push({ id: 'time', what: t.time, value, without: { from: undefined, to: undefined } });
  }
  add('q', t.text, (value) => value);
  if (chips.length === 0) return null;
  return (
    <ul className={css.chips} aria-label={t.active}>
      {chips.map(({ id, what, value, without }) => (
        <li key={id}>
          <AriaButton className={css.chip ?? ''} aria-label={t.drop(what, value)} onPress={() => onChange(without)}>
            <span className="quiet">{what}</span>{' '}<span className={css.chipValue}>{value}</span><X size={13} aria-hidden />
          </AriaButton>
        </li>
      ))}
      <li><Button look="quiet" small onPress={() => onChange(NO_FILTERS)}>{t.clear}</Button></li>
    </ul>
  );
}
