// The layout of a page: title, main action, cards, loading and error states.
import { ArrowLeft, LoaderCircle } from 'lucide-react';
import type { ReactNode } from 'react';

import { errorText } from '@/api/client';
import { texts, useTexts } from '@/i18n/language';

import { Button } from './Button';
import { ErrorNote } from './Note';
import css from './Page.module.css';

const TEXTS = texts({ loading: 'Loading…', again: 'Try again' }, { loading: '加载中…', again: '重试' });

export interface PageProps {
  title: string;
  /** One line below the title. */
  about?: ReactNode;
  /** Buttons to the right of the title. */
  actions?: ReactNode;
  /** A link to the parent page. */
  back?: ReactNode;
  children: ReactNode;
}

export function Page({ title, about, actions, back, children }: PageProps) {
  return (
    <div className={css.page}>
      <title>{`${title} · Haft`}</title>
      {back !== undefined && <div className={css.back}><ArrowLeft size={14} aria-hidden />{back}</div>}
      <header className={css.header}>
        <div className={css.titles}>
          <h1>{title}</h1>
          {about !== undefined && <div className="quiet">{about}</div>}
        </div>
        {actions !== undefined && <div className={css.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export interface CardProps {
  title?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  /** Removes the padding, for tables and lists. */
  flush?: boolean;
}

export function Card({ title, actions, children, flush = false }: CardProps) {
  return (
    <section className={css.card}>
      {title !== undefined && (
        <header className={css.cardHeader}>
          <h2>{title}</h2>
          {actions}
        </header>
      )}
      <div className={flush ? '' : css.cardBody}>{children}</div>
    </section>
  );
}

/** A loading indicator. */
export function Loading() {
  const t = useTexts(TEXTS);
  return (
    <div className={css.loading} role="status">
      <LoaderCircle className={css.spin} aria-hidden /> {t.loading}
    </div>
  );
}

/** The error state of a page whose data could not be loaded, with a retry button. */
export function LoadFailed({ error, again }: { error: unknown; again: () => void }) {
  const t = useTexts(TEXTS);
  return (
    <ErrorNote>
      {errorText(error)} <Button small onPress={again}>{t.again}</Button>
    </ErrorNote>
  );
}
