// Renders untrusted Markdown as text and known elements, never as HTML. The renderer is loaded on demand.
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
