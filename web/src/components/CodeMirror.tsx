// The editor itself, in a chunk of its own.
import { json } from '@codemirror/lang-json';
import { Compartment, EditorState } from '@codemirror/state';
import { EditorView, placeholder as placeholderOf } from '@codemirror/view';
import { basicSetup } from 'codemirror';
import { useEffect, useRef } from 'react';

import css from './Code.module.css';
import { highlight } from './highlight';
import { typeOver } from './typeOver';

export interface EditorProps {
  label: string;
  value: string;
  onChange?: (value: string) => void;
  language?: 'json' | 'text';
  placeholder?: string;
  minHeight?: number;
  isInvalid?: boolean;
  autoFocus?: boolean;
}

const theme = EditorView.theme({
  '&': { backgroundColor: 'transparent', color: 'var(--ink)', fontSize: '0.8125rem' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--ink-3)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-soft)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-placeholder': { color: 'var(--ink-3)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--sunken)', borderColor: 'var(--line)', color: 'var(--ink-2)' },
  '.cm-tooltip, .cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--ink)', borderColor: 'var(--line)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--accent-soft)' },
  '&.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'var(--bad-soft)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--accent-soft)' },
});

/** What may become otherwise while the editor is open: the language of its label, and whether one may write. */
const later = new Compartment();

const laterOf = (label: string, isReadOnly: boolean) => [EditorView.contentAttributes.of({ 'aria-label': label }), EditorState.readOnly.of(isReadOnly)];

export default function CodeMirror(props: EditorProps) {
  const { label, value, onChange, language = 'json', placeholder, minHeight = 160, isInvalid, autoFocus } = props;
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const changed = useRef(onChange);
  /** What was typed and has not come back as a value yet. */
  const said = useRef<string[]>([]);
  const isReadOnly = onChange === undefined;
  const first = useRef({ value, language, placeholder, minHeight, label, autoFocus, isReadOnly });
  useEffect(() => {
    changed.current = onChange;
  });
  useEffect(() => {
    if (place.current === null) return undefined;
    const begin = first.current;
    // The page's policy forbids style elements; within a shadow the editor adopts sheets instead.
    const root = place.current.shadowRoot ?? place.current.attachShadow({ mode: 'open', delegatesFocus: true });
    const editor = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: begin.value,
        extensions: [
          basicSetup,
          theme,
          highlight,
          typeOver,
          EditorView.theme({ '.cm-content': { minHeight: `${begin.minHeight}px` } }),
          EditorView.lineWrapping,
          later.of(laterOf(begin.label, begin.isReadOnly)),
          ...(begin.language === 'json' ? [json()] : []),
          ...(begin.placeholder === undefined ? [] : [placeholderOf(begin.placeholder)]),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged || changed.current === undefined) return;
            const text = update.state.doc.toString();
            said.current.push(text);
            changed.current(text);
          }),
        ],
      }),
    });
    view.current = editor;
    if (begin.autoFocus === true) editor.focus();
    return () => editor.destroy();
  }, []);
  useEffect(() => {
    view.current?.dispatch({ effects: later.reconfigure(laterOf(label, isReadOnly)) });
  }, [label, isReadOnly]);
  // A value from outside takes the place of what is there. One's own typing comes back, and when it does, more may have
  // been typed.
  useEffect(() => {
    const editor = view.current;
    if (editor === null) return;
    const own = said.current.indexOf(value);
    if (own >= 0) {
      said.current.splice(0, own + 1);
      return;
    }
    if (editor.state.doc.toString() !== value) {
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
    }
    said.current = [];
  }, [value]);
  // Dialogs keep the focus among what they can see to be focusable; this one hands it on to the text.
  return <div ref={place} tabIndex={0} className={`${css.editor} ${isInvalid === true ? css.invalid : ''}`} />;
}
