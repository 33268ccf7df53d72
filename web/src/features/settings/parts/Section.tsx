// One section of the settings: title, description and main action.
import type { ReactNode } from 'react';

import css from './parts.module.css';

export interface SectionProps {
  title: string;
  about: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

export function Section({ title, about, actions, children }: SectionProps) {
  return (
    <section className={css.section} aria-label={title}>
      <header className={css.sectionHeader}>
        <div className={css.sectionTitles}>
          <h2>{title}</h2>
          <p>{about}</p>
        </div>
        {actions}
      </header>
      {children}
    </section>
  );
}
