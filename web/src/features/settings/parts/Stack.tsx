// Things under each other, with room between them.
import type { ReactNode } from 'react';

import css from './parts.module.css';

export function Stack({ children }: { children: ReactNode }) {
  return <div className={css.stack}>{children}</div>;
}
