// The buttons of a list row: move up, move down, remove.
import { ArrowDown, ArrowUp, Trash2 } from 'lucide-react';

import { IconButton } from '@/components/Button';
import { useTexts } from '@/i18n/language';

import css from './SchemaForm.module.css';
import { TEXTS } from './texts';

interface Props {
  at: number;
  count: number;
  mayRemove: boolean;
  isDisabled: boolean;
  move: (to: number) => void;
  remove: () => void;
}

export function RowActions({ at, count, mayRemove, isDisabled, move, remove }: Props) {
  const t = useTexts(TEXTS);
  const position = at + 1;
  return (
    <span className={css.acts}>
      <span data-act="up">
        <IconButton label={t.up(position)} isDisabled={isDisabled || at === 0} onPress={() => move(at - 1)}><ArrowUp aria-hidden /></IconButton>
      </span>
      <span data-act="down">
        <IconButton label={t.down(position)} isDisabled={isDisabled || at === count - 1} onPress={() => move(at + 1)}><ArrowDown aria-hidden /></IconButton>
      </span>
      <span data-act="remove">
        <IconButton label={t.remove(position)} isDisabled={isDisabled || !mayRemove} onPress={remove}><Trash2 aria-hidden /></IconButton>
      </span>
    </span>
  );
}
