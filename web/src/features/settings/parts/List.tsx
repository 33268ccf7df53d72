// A list of rows, each with facts and actions.
import type { ReactNode } from 'react';

import { Button } from '@/components/Button';
import { LoadFailed, Loading } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { useTexts } from '@/i18n/language';

import { COMMON } from '../texts';
import { itemsOf, type Pages } from './pages';
import css from './parts.module.css';

export interface ListProps<T> {
  label: string;
  pages: Pages<T>;
  /** The content of an empty list. */
  empty: ReactNode;
  children: (item: T) => ReactNode;
}

export function List<T>({ label, pages, empty, children }: ListProps<T>) {
  const t = useTexts(COMMON);
  if (pages.isPending) return <Loading />;
  if (pages.isError) return <LoadFailed error={pages.error} again={() => void pages.refetch()} />;
  const items = itemsOf(pages);
  if (items.length === 0) return <Box>{empty}</Box>;
  return (
    <div className={css.box}>
      <ul className={css.rows} aria-label={label}>{items.map(children)}</ul>
      {pages.hasNextPage && (
        <div className={css.more}>
          <Button small look="quiet" isPending={pages.isFetchingNextPage} onPress={() => void pages.fetchNextPage()}>{t.more}</Button>
        </div>
      )}
    </div>
  );
}

/** The frame of a list, for content other than rows. */
export function Box({ children }: { children: ReactNode }) {
  return <div className={css.box}>{children}</div>;
}

export interface RowProps {
  icon?: ReactNode;
  title: ReactNode;
  /** Badges beside the title. */
  marks?: ReactNode;
  about?: ReactNode;
  actions?: ReactNode;
  /** Content below the row, over its whole width. */
  below?: ReactNode;
}

export function Row({ icon, title, marks, about, actions, below }: RowProps) {
  return (
    <li className={css.row}>
      <div className={css.rowLine}>
        {icon !== undefined && <span className={css.rowIcon} aria-hidden>{icon}</span>}
        <div className={css.rowText}>
          <div className={css.rowTitle}>{title}{marks}</div>
          {about !== undefined && <div className={css.rowAbout}>{about}</div>}
        </div>
        {actions !== undefined && <div className={css.rowActions}>{actions}</div>}
      </div>
      {below}
    </li>
  );
}

/** Facts in one line, separated by dots. */
export function Facts({ children }: { children: ReactNode }) {
  return <span className={css.facts}>{children}</span>;
}

/** A relative time, with the exact time as its tooltip. */
export function When({ at, say = (ago) => ago }: { at: string; say?: (ago: string) => string }) {
  const format = useFormat();
  return <time dateTime={at} title={format.time(at)}>{say(format.ago(at))}</time>;
}
