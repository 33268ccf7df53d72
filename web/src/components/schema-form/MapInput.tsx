// Additional properties of an object, as rows of a name and a value.
import { Plus, Trash2 } from 'lucide-react';
import { useRef, useState } from 'react';

import { Button, IconButton } from '@/components/Button';
import { TextField } from '@/components/Field';
import { useTexts } from '@/i18n/language';

import { useForm } from './context';
import { pathOf } from './errors';
import { FieldView } from './FieldView';
import { blankOf } from './initial';
import { firstField, useFocusNext } from './rows';
import { isSame, type JsonObject, type JsonSchema } from './schema';
import css from './SchemaForm.module.css';
import { type MapRow, objectOfRows } from './value';
import { TEXTS } from './texts';

interface Props {
  label: string;
  items: JsonSchema;
  /** Properties that have their fields elsewhere in the form. */
  named: readonly string[];
  path: string;
  depth: number;
  value: JsonObject;
  onChange: (value: JsonObject) => void;
}

function split(value: JsonObject, named: readonly string[], isNamed: boolean): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([name]) => named.includes(name) === isNamed));
}

const rowsOf = (value: JsonObject): MapRow[] => Object.entries(value).map(([name, one], id) => ({ id, name, value: one }));

export function MapInput({ label, items, named, path, depth, value, onChange }: Props) {
  const t = useTexts(TEXTS);
  const { root, isDisabled } = useForm();
  const container = useRef<HTMLDivElement>(null);
  const focusNext = useFocusNext(container);
  const rest = split(value, named, false);
  const [edited, setEdited] = useState(() => rowsOf(rest));
  // Rows without a name exist only in this state. Any other difference was made outside this component.
  const rows = isSame(objectOfRows(edited), rest) ? edited : rowsOf(rest);
  const change = (next: MapRow[]) => {
    setEdited(next);
    onChange({ ...split(value, named, true), ...objectOfRows(next) });
  };
  const edit = (id: number, part: Partial<MapRow>) => change(rows.map((row) => (row.id === id ? { ...row, ...part } : row)));
  const add = () => {
    focusNext([firstField(`[data-row="${rows.length}"]`)]);
    change([...rows, { id: 1 + Math.max(-1, ...rows.map((row) => row.id)), name: '', value: blankOf(items, root, depth + 1) }]);
  };
  const remove = (at: number) => {
    focusNext(['[data-act="add"] button']);
    change(rows.filter((_, index) => index !== at));
  };
  return (
    <div ref={container} className={css.list} role="group" aria-label={label}>
      {rows.map((row, at) => {
        const isTwice = row.name !== '' && (named.includes(row.name) || rows.some((other, index) => index > at && other.name === row.name));
        return (
          <div key={row.id} data-row={at} className={css.mapRow}>
            <TextField
              label={t.key} isLabelHidden placeholder={t.key} isMono isDisabled={isDisabled} value={row.name}
              onChange={(name) => edit(row.id, { name })} error={isTwice ? t.twice : undefined}
            />
            <FieldView
              schema={items} name={row.name} label={row.name === '' ? t.value : row.name} isLabelHidden path={pathOf(path, row.name)} depth={depth + 1}
              isRequired value={row.value} onChange={(next) => edit(row.id, { value: next ?? blankOf(items, root, depth + 1) })}
            />
            <IconButton label={t.removeField(row.name)} isDisabled={isDisabled} onPress={() => remove(at)}><Trash2 aria-hidden /></IconButton>
          </div>
        );
      })}
      <div data-act="add">
        <Button small icon={<Plus aria-hidden />} isDisabled={isDisabled} onPress={add} aria-label={t.addTo(label)}>{t.add}</Button>
      </div>
    </div>
  );
}
