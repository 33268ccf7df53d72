// An editable table of names and values: query parameters, headers, form fields.
import { Plus, Trash2 } from 'lucide-react';
import { type KeyboardEvent, useRef } from 'react';

import type { Violation } from '@/api/client';
import { Button, IconButton } from '@/components/Button';
import { TextField } from '@/components/Field';
import { useTexts, texts } from '@/i18n/language';

import css from './KeyValues.module.css';
import { duplicateRows, newRow, type Row } from './rows';
import { messageAt } from './violations';

const TEXTS = texts(
  {
    name: 'Name', value: 'Value', add: 'Add', remove: (name: string) => `Remove ${name}`, nameAt: (at: number) => `Name ${at}`, valueAt: (at: number) => `Value ${at}`,
    duplicates: 'Duplicate name.', unnamed: 'row without a name',
  },
  {
    name: '名称', value: '值', add: '添加', remove: (name: string) => `删除 ${name}`, nameAt: (at: number) => `第 ${at} 行名称`, valueAt: (at: number) => `第 ${at} 行值`,
    duplicates: '上面已有同名项。', unnamed: '未命名的行',
  },
);

export interface KeyValuesProps {
  label: string;
  rows: readonly Row[];
  onChange: (rows: Row[]) => void;
  /** The path of the object in violations. */
  path: string;
  violations: readonly Violation[];
  namePlaceholder?: string;
  valuePlaceholder?: string;
}

export function KeyValues({ label, rows, onChange, path, violations, namePlaceholder, valuePlaceholder = '{{variable}}' }: KeyValuesProps) {
  const t = useTexts(TEXTS);
  const container = useRef<HTMLDivElement>(null);
  const duplicates = duplicateRows(rows);
  const set = (id: number, fields: Partial<Row>) => onChange(rows.map((row) => (row.id === id ? { ...row, ...fields } : row)));
  const add = () => {
    onChange([...rows, newRow(rows)]);
    // Focus the new row.
    requestAnimationFrame(() => [...(container.current?.querySelectorAll<HTMLInputElement>('[data-name] input') ?? [])].at(-1)?.focus());
  };
  // Enter adds a row instead of submitting the form.
  const byKeys = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.nativeEvent.isComposing || !(event.target instanceof HTMLInputElement)) return;
    event.preventDefault();
    add();
  };
  return (
    <div role="group" aria-label={label} className={css.rows} ref={container} onKeyDown={byKeys}>
      {rows.length > 0 && <div className={css.head} aria-hidden><span>{t.name}</span><span>{t.value}</span></div>}
      {rows.map((row, index) => (
        <div key={row.id} className={css.row}>
          <div data-name>
            <TextField
              label={t.nameAt(index + 1)} isLabelHidden isMono value={row.key} onChange={(key) => set(row.id, { key })} placeholder={namePlaceholder ?? t.name}
              error={duplicates.has(row.id) ? t.duplicates : undefined}
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
