// Code and JSON: shown as text, or in an editor that is loaded when it is opened.
import { lazy, Suspense } from 'react';

import css from './Code.module.css';
import type { EditorProps } from './CodeMirror';
import { CopyButton } from './CopyButton';

const Editor = lazy(() => import('./CodeMirror'));

export function CodeEditor(props: EditorProps) {
  return (
    <Suspense fallback={<div className={css.waiting} style={{ minHeight: props.minHeight ?? 160 }} />}>
      <Editor {...props} />
    </Suspense>
  );
}

/** Text as it is, with a button to take it along. */
export function CodeBlock({ text, label, wrap = true }: { text: string; label: string; wrap?: boolean }) {
  return (
    <div className={css.block}>
      {/* Long lines are scrolled, by keys too. */}
      <pre tabIndex={0} role="region" aria-label={label} className={wrap ? css.wrap : ''}>{text}</pre>
      <div className={css.copy}><CopyButton text={text} iconOnly /></div>
    </div>
  );
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
