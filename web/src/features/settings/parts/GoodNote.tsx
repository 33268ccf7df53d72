// A note about a success.
import { CircleCheck } from 'lucide-react';
import type { ReactNode } from 'react';

import css from './parts.module.css';

export function GoodNote({ children }: { children: ReactNode }) {
  return <div className={css.good} role="status"><CircleCheck size={16} aria-hidden /><div>{children}</div></div>;
}
