// Markdown that nobody vouches for: as text and known elements, never as HTML. What draws it is loaded when it is needed.
import { lazy, Suspense } from 'react';

import css from './Markdown.module.css';

const Blocks = lazy(() => import('./Blocks'));

export function Markdown({ text }: { text: string }) {
  return (
    <div className={css.markdown}>
      <Suspense fallback={<p className={css.plain}>{text}</p>}><Blocks text={text} /></Suspense>
    </div>
  );
}
