// Rows of names and values, with one to spare at the end.
import { Plus, Trash2 } from 'lucide-react';
import { type KeyboardEvent, useRef } from 'react';

import type { Violation } from '@/api/client';
import { Button, IconButton } from '@/components/Button';
import { TextField } from '@/components/Field';
import { useWords, words } from '@/i18n/language';

import css from './KeyValues.module.css';
import { doubled, newRow, type Row } from './rows';
import { messageAt } from './violations';

const WORDS = words(
  {
    name: 'Name', value: 'Value', add: 'Add', remove: (name: string) => `Remove ${name}`, nameAt: (at: number) => `Name ${at}`, valueAt: (at: number) => `Value ${at}`,
    twice: 'This name is above already.', unnamed: 'row without a name',
  },
  {
    name: '名称', value: '值', add: '添加', remove: (name: string) => `删除 ${name}`, nameAt: (at: number) => `第 ${at} 行名称`, valueAt: (at: number) => `第 ${at} 行值`,
    twice: '上面已有同名项。', unnamed: '未命名的行',
  },
);

export interface KeyValuesProps {
  label: string;
  rows: readonly Row[];
  onChange: (rows: Row[]) => void;
  /** Paths of these begin with it. */
  path: string;
  violations: readonly Violation[];
  namePlaceholder?: string;
  valuePlaceholder?: string;
}

export function KeyValues({ label, rows, onChange, path, violations, namePlaceholder, valuePlaceholder = '{{variable}}' }: KeyValuesProps) {
  const t = useWords(WORDS);
  const place = useRef<HTMLDivElement>(null);
  const twice = doubled(rows);
  const set = (id: number, fields: Partial<Row>) => onChange(rows.map((row) => (row.id === id ? { ...row, ...fields } : row)));
  const add = () => {
    onChange([...rows, newRow(rows)]);
    // Whoever adds a row wants to write into it.
    requestAnimationFrame(() => [...(place.current?.querySelectorAll<HTMLInputElement>('[data-name] input') ?? [])].at(-1)?.focus());
  };
  // Enter within a row asks for the next one, and does not send the form.
  const byKeys = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.nativeEvent.isComposing || !(event.target instanceof HTMLInputElement)) return;
    event.preventDefault();
    add();
  };
  return (
    <div role="group" aria-label={label} className={css.rows} ref={place} onKeyDown={byKeys}>
      {rows.length > 0 && <div className={css.head} aria-hidden><span>{t.name}</span><span>{t.value}</span></div>}
      {rows.map((row, index) => (
        <div key={row.id} className={css.row}>
          <div data-name>
            <TextField
              label={t.nameAt(index + 1)} isLabelHidden isMono value={row.key} onChange={(key) => set(row.id, { key })} placeholder={namePlaceholder ?? t.name}
              error={twice.has(row.id) ? t.twice : undefined}
            />
          </div>
          <TextField
            label={t.valueAt(index + 1)} isLabelHidden isMono value={row.value} onChange={(value) => set(row.id, { value })} placeholder={valuePlaceholder}
            error={row.key === '' ? undefined : messageAt(violations, `${path}.${row.key}`)}
          />
          <IconButton label={t.remove(row.key === '' ? t.unnamed : row.key)} onPress={() => onChange(rows.filter(({ id }) => id !== row.id))}><Trash2 aria-hidden /></IconButton>
        </div>
      ))}
      <div><Button small icon={<Plus aria-hidden />} onPress={add}>{t.add}</Button></div>
    </div>
  );
}
