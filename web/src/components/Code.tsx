// Code and JSON, as text or in an editor that is loaded on demand.
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

/** Preformatted text with a copy button. */
export function CodeBlock({ text, label, wrap = true }: { text: string; label: string; wrap?: boolean }) {
  return (
    <div className={css.block}>
      {/* Focusable, so that long lines can be scrolled by keyboard. */}
      <pre tabIndex={0} role="region" aria-label={label} className={wrap ? css.wrap : ''}>{text}</pre>
      <div className={css.copy}><CopyButton text={text} iconOnly /></div>
    </div>
  );
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
