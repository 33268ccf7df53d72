// A list of fields whose items can be added, removed and moved.
import { Plus } from 'lucide-react';
import { useRef, useState } from 'react';

import { Button } from '@/components/Button';
import { useTexts } from '@/i18n/language';

import { useForm } from './context';
import { pathOf } from './errors';
import type { InputProps } from './field';
import { FieldView } from './FieldView';
import { Group } from './Group';
import { blankOf } from './initial';
import { JsonInput } from './JsonInput';
import { RowActions } from './RowActions';
import { firstField, useFocusNext, useRowKeys } from './rows';
import type { JsonValue } from './schema';
import css from './SchemaForm.module.css';
import { parseField, type Shape } from './shape';
import { moved, withItem, withoutItem } from './value';
import { TEXTS } from './texts';

/** Longer lists are edited as JSON. */
const MAX_ROWS = 100;

type ListShape = Extract<Shape, { kind: 'list' }>;

export function ListInput({ shape, ...props }: InputProps & { shape: ListShape }) {
  const t = useTexts(TEXTS);
  const { value } = props;
  if (value !== undefined && !Array.isArray(value)) return <JsonInput {...props} />;
  if ((value?.length ?? 0) > MAX_ROWS) return <JsonInput {...props} description={<>{props.description} {t.tooMany}</>} />;
  return <Group {...props}><Rows {...props} shape={shape} list={value ?? []} /></Group>;
}

function Rows({ shape, list, label, path, depth, onChange, isRequired }: InputProps & { shape: ListShape; list: JsonValue[] }) {
  const t = useTexts(TEXTS);
  const { root, isDisabled } = useForm();
  const container = useRef<HTMLDivElement>(null);
  const [keys, setKeys] = useRowKeys(list.length);
  const [announcement, setAnnouncement] = useState('');
  const focusNext = useFocusNext(container);
  const row = (at: number) => `:scope > ol > [data-row="${at}"]`;
  const change = (next: JsonValue[]) => onChange(next.length === 0 && !isRequired ? undefined : next);
  const add = () => {
    focusNext([firstField(row(list.length)), `${row(list.length)} button`]);
    change([...list, blankOf(shape.items, root, depth + 1)]);
  };
  const remove = (at: number) => {
    const next = row(Math.min(at, list.length - 2));
    focusNext([`${next} [data-act="remove"] button:not(:disabled)`, firstField(next), ':scope > [data-act="add"] button:not(:disabled)']);
    setKeys(withoutItem(keys, at));
    change(withoutItem(list, at));
  };
  const move = (from: number, to: number) => {
    const directions = to < from ? ['up', 'down'] : ['down', 'up'];
    focusNext(directions.map((direction) => `${row(to)} [data-act="${direction}"] button:not(:disabled)`));
    setAnnouncement(t.wasMoved(to + 1));
    setKeys(moved(keys, from, to));
    change(moved(list, from, to));
  };
  const isFlat = !['object', 'list', 'variants', 'json'].includes(parseField(shape.items, root, '', depth + 1).shape.kind);
  return (
    <div ref={container} className={css.list}>
      {list.length > 0 && (
        <ol className={css.rows}>
          {list.map((item, at) => (
            <li key={keys[at]} data-row={at} className={isFlat ? css.flatRow : css.row}>
              {!isFlat && <span className={css.rowName} aria-hidden>{at + 1}</span>}
              <RowActions
                at={at} count={list.length} mayRemove={list.length > shape.minItems} isDisabled={isDisabled}
                move={(to) => move(at, to)} remove={() => remove(at)}
              />
              <div className={css.rowField}>
                <FieldView
                  schema={shape.items} name={String(at)} label={t.item(at + 1)} isLabelHidden path={pathOf(path, at)} depth={depth + 1}
                  isRequired value={item} onChange={(next) => change(withItem(list, at, next ?? blankOf(shape.items, root, depth + 1)))}
                />
              </div>
            </li>
          ))}
        </ol>
      )}
      <div data-act="add">
        <Button small icon={<Plus aria-hidden />} isDisabled={isDisabled || list.length >= shape.maxItems} onPress={add} aria-label={t.addTo(label)}>
          {t.add}
        </Button>
      </div>
      <span className="hidden" role="status">{announcement}</span>
    </div>
  );
}
