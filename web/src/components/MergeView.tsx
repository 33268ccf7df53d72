// A diff of two texts, in a separate chunk: side by side, or unified on narrow screens.
import { json } from '@codemirror/lang-json';
import { MergeView as SideBySide, unifiedMergeView } from '@codemirror/merge';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, lineNumbers } from '@codemirror/view';
import { useLayoutEffect, useRef } from 'react';

import { highlight } from '@/components/highlight';

import css from './MergeView.module.css';

export interface MergeProps {
  label: string;
  before: string;
  after: string;
  isNarrow: boolean;
  /** Collapses long unchanged passages. */
  isFolded: boolean;
  unchanged: string;
}

const theme = EditorView.theme({
  '&': { backgroundColor: 'transparent', color: 'var(--ink)', fontSize: 'var(--text-xs)' },
  '.cm-content': { fontFamily: 'var(--mono)' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--ink-3)', border: 'none' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '&.cm-merge-a .cm-changedLine, .cm-deletedChunk': { backgroundColor: 'var(--bad-soft)' },
  '&.cm-merge-b .cm-changedLine, .cm-insertedLine': { backgroundColor: 'var(--good-soft)' },
  '&.cm-merge-a .cm-changedText, .cm-deletedText': { background: 'none', textDecoration: 'underline', textDecorationColor: 'var(--bad)' },
  '&.cm-merge-b .cm-changedText': { background: 'none', textDecoration: 'underline', textDecorationColor: 'var(--good)' },
  '.cm-collapsedLines': { background: 'var(--sunken)', color: 'var(--ink-2)' },
  '.cm-collapsedLines:before, .cm-collapsedLines:after': { content: '"⋯"' },
  '.cm-changedLineGutter': { background: 'var(--accent)' },
});

const FOLDING = { margin: 3, minSize: 6 };

export default function MergeView({ label, before, after, isNarrow, isFolded, unchanged }: MergeProps) {
  const container = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (container.current === null) return undefined;
    // The content security policy forbids style elements; inside a shadow root the editor uses adopted style
    // sheets instead.
    const root = container.current.shadowRoot ?? container.current.attachShadow({ mode: 'open' });
    const extensions: Extension[] = [
      lineNumbers(), json(), theme, highlight, EditorView.lineWrapping, EditorState.readOnly.of(true), EditorView.editable.of(false),
      EditorState.phrases.of({ '$ unchanged lines': unchanged }),
      EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
    ];
    const folding = isFolded ? { collapseUnchanged: FOLDING } : {};
    if (isNarrow) {
      const merged = unifiedMergeView({ original: before, mergeControls: false, ...folding });
      const view = new EditorView({ parent: root, root, doc: after, extensions: [...extensions, merged] });
      return () => view.destroy();
    }
    const view = new SideBySide({
      parent: root, root, a: { doc: before, extensions }, b: { doc: after, extensions }, gutter: true, ...folding,
    });
    return () => view.destroy();
  }, [label, before, after, isNarrow, isFolded, unchanged]);
  return <div ref={container} className={css.merge} />;
}
