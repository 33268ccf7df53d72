// A vertical stack with gaps, or two columns where there is room.
import type { ReactNode } from 'react';

import css from './parts.module.css';

export function Stack({ children }: { children: ReactNode }) {
  return <div className={css.stack}>{children}</div>;
}

export function Pair({ children }: { children: ReactNode }) {
  return <div className={css.pair}>{children}</div>;
}
