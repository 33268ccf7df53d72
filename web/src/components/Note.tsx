// Notes on a page: an error, a hint, or an empty state with its main action.
import { CircleAlert, Info, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';

import css from './Note.module.css';

export function ErrorNote({ children }: { children: ReactNode }) {
  return <div className={`${css.note} ${css.bad}`} role="alert"><CircleAlert size={16} aria-hidden />{<div>{children}</div>}</div>;
}

export function WarningNote({ children }: { children: ReactNode }) {
  return <div className={`${css.note} ${css.warn}`}><TriangleAlert size={16} aria-hidden /><div>{children}</div></div>;
}

export function Hint({ children }: { children: ReactNode }) {
  return <div className={css.note}><Info size={16} aria-hidden /><div>{children}</div></div>;
}

export interface EmptyProps {
  icon: ReactNode;
  title: string;
  children: ReactNode;
  /** The main action. */
  action?: ReactNode;
  /** True if the page has no other content, so that this title is the heading of the page. */
  isPage?: boolean;
}

export function Empty({ icon, title, children, action, isPage = false }: EmptyProps) {
  const Title = isPage ? 'h1' : 'h2';
  return (
    <div className={css.empty}>
      <span className={css.emptyIcon} aria-hidden>{icon}</span>
      <Title>{title}</Title>
      {children !== false && <div className={css.emptyText}>{children}</div>}
      {action}
    </div>
  );
}

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'accent';

export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return <span className={`${css.badge} ${css[tone]}`}>{children}</span>;
}
