// What can be done with one row of a list.
import { ArrowDown, ArrowUp, Trash2 } from 'lucide-react';

import { IconButton } from '@/components/Button';
import { useWords } from '@/i18n/language';

import css from './SchemaForm.module.css';
import { WORDS } from './words';

interface Props {
  at: number;
  count: number;
  mayRemove: boolean;
  isDisabled: boolean;
  move: (to: number) => void;
  remove: () => void;
}

export function RowActions({ at, count, mayRemove, isDisabled, move, remove }: Props) {
  const t = useWords(WORDS);
  const place = at + 1;
  return (
    <span className={css.acts}>
      <span data-act="up">
        <IconButton label={t.up(place)} isDisabled={isDisabled || at === 0} onPress={() => move(at - 1)}><ArrowUp aria-hidden /></IconButton>
      </span>
      <span data-act="down">
        <IconButton label={t.down(place)} isDisabled={isDisabled || at === count - 1} onPress={() => move(at + 1)}><ArrowDown aria-hidden /></IconButton>
      </span>
      <span data-act="remove">
        <IconButton label={t.remove(place)} isDisabled={isDisabled || !mayRemove} onPress={remove}><Trash2 aria-hidden /></IconButton>
      </span>
    </span>
  );
}
