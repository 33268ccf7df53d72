// The time range of the log: a window until now, or two points in time.
import { CalendarClock, ChevronDown } from 'lucide-react';
import { type SyntheticEvent, useState } from 'react';
import { Button as AriaButton, Dialog, DialogTrigger, Input, Label, ListBox, ListBoxItem, Popover, TextField } from 'react-aria-components';

import { Button } from '@/components/Button';
import field from '@/components/Field.module.css';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';
import { useLongWindows } from '@/i18n/windows';

import css from './FilterBar.module.css';
import { AGES, isAge, startTime } from './filters';

const TEXTS = texts(
  {
    title: 'Time range', any: 'Any time', from: 'From', to: 'Until', apply: 'Show', since: (from: string) => `Since ${from}`,
    until: (to: string) => `Until ${to}`, between: (from: string, to: string) => `${from} – ${to}`,
  },
  {
    title: '时间范围', any: '不限时间', from: '从', to: '到', apply: '显示', since: (from: string) => `${from} 起`,
    until: (to: string) => `${to} 之前`, between: (from: string, to: string) => `${from} – ${to}`,
  },
);

export interface Range {
  from: string | undefined;
  to: string | undefined;
}

export function useRangeText(): (range: Range) => string {
  const t = useTexts(TEXTS);
  const ages: Readonly<Record<string, string>> = useLongWindows();
  const format = useFormat();
  return ({ from, to }) => {
    if (from !== undefined && isAge(from) && to === undefined) return ages[from] ?? from;
    const start = momentOf(startTime(from));
    const end = momentOf(to);
    if (start !== undefined && end !== undefined) return t.between(format.time(start), format.time(end));
    if (start !== undefined) return t.since(format.time(start));
    return end === undefined ? t.any : t.until(format.time(end));
  };
}

export function TimeRange({ range, onChange }: { range: Range; onChange: (range: Range) => void }) {
  const t = useTexts(TEXTS);
  const ages: Readonly<Record<string, string>> = useLongWindows();
  const text = useRangeText();
  const chosen = range.to === undefined && (range.from === undefined || isAge(range.from)) ? (range.from ?? 'any') : undefined;
  return (
    <DialogTrigger>
      <AriaButton className={`${field.input} ${field.select} ${css.range}`} aria-label={`${t.title}: ${text(range)}`}>
        <CalendarClock size={15} aria-hidden />
        <span className={css.rangeText}>{text(range)}</span>
        <ChevronDown size={15} aria-hidden />
      </AriaButton>
      <Popover className={field.popover ?? ''} placement="bottom end">
        <Dialog aria-label={t.title} className={css.rangeDialog ?? ''}>
          {({ close }) => {
            const take = (next: Range) => {
              onChange(next);
              close();
            };
            return (
              <>
                <ListBox
                  aria-label={t.title} className={field.list ?? ''} selectionMode="single" selectedKeys={chosen === undefined ? [] : [chosen]}
                  onSelectionChange={(keys) => {
                    const [key] = keys === 'all' ? [] : [...keys];
                    take({ from: key === 'any' || typeof key !== 'string' ? undefined : key, to: undefined });
                  }}
                >
                  {['any', ...Object.keys(AGES)].map((age) => (
                    <ListBoxItem key={age} id={age} className={`${field.option} ${css.age}`}>{age === 'any' ? t.any : ages[age]}</ListBoxItem>
                  ))}
                </ListBox>
                <Moments range={range} onTake={take} />
              </>
            );
          }}
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}

function Moments({ range, onTake }: { range: Range; onTake: (range: Range) => void }) {
  const t = useTexts(TEXTS);
  const [from, setFrom] = useState(() => local(startTime(range.from)));
  const [to, setTo] = useState(() => local(range.to));
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onTake({ from: momentOf(from)?.toISOString(), to: momentOf(to)?.toISOString() });
  };
  return (
    <form onSubmit={submit} className={css.moments}>
      <Moment label={t.from} value={from} onChange={setFrom} />
      <Moment label={t.to} value={to} onChange={setTo} />
      <Button type="submit" look="primary" small>{t.apply}</Button>
    </form>
  );
}

function Moment({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  return (
    <TextField className={field.field ?? ''} value={value} onChange={onChange}>
      <Label className={field.label ?? ''}>{label}</Label>
      <Input type="datetime-local" className={field.input ?? ''} />
    </TextField>
  );
}

function momentOf(text: string | undefined): Date | undefined {
  const moment = new Date(text ?? '');
  return Number.isNaN(moment.getTime()) ? undefined : moment;
}

/** The value of a `datetime-local` field: local time without a time zone. */
function local(time: string | undefined): string {
  const moment = momentOf(time);
  if (moment === undefined) return '';
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
