// The category filter of the tool list.
import { Link } from '@tanstack/react-router';

import { CATEGORIES, categoryName } from '@/i18n/categories';
import { useFormat } from '@/i18n/format';
import { useTexts, texts } from '@/i18n/language';

import css from './Categories.module.css';
import type { Category } from './pages';

const TEXTS = texts({ label: 'Categories', all: 'All' }, { label: '分类', all: '全部' });

export interface CategoriesProps {
  categories: readonly Category[];
  chosen: string | undefined;
  q: string | undefined;
}

export function Categories({ categories, chosen, q }: CategoriesProps) {
  const t = useTexts(TEXTS);
  const names = useTexts(CATEGORIES);
  const format = useFormat();
  const all = categories.reduce((sum, { count }) => sum + count, 0);
  const chips = [{ category: undefined, label: t.all, count: all }, ...categories.map(({ category, count }) => ({ category, label: categoryName(names, category), count }))];
  return (
    <nav aria-label={t.label} className={css.chips}>
      {chips.map(({ category, label, count }) => (
        <Link
          key={category ?? ''} to="/tools" search={{ q, category }} replace className={css.chip} activeProps={{}}
          aria-current={category === chosen ? 'true' : undefined} data-chosen={category === chosen || undefined}
        >
          {label} <span className={css.count}>{format.count(count)}</span>
        </Link>
      ))}
    </nav>
  );
}
