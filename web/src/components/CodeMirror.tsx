// The CodeMirror editor, in a separate chunk.
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

/**
 * Settings that may change while the editor is open: the language of its label, and whether it is read-only.
 */
const settingsCompartment = new Compartment();

const mutableSettings = (label: string, isReadOnly: boolean) => [EditorView.contentAttributes.of({ 'aria-label': label }), EditorState.readOnly.of(isReadOnly)];

export default function CodeMirror(props: EditorProps) {
  const { label, value, onChange, language = 'json', placeholder, minHeight = 160, isInvalid, autoFocus } = props;
  const container = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const changed = useRef(onChange);
  /** Typed texts that have not come back as `value` yet. */
  const typedTexts = useRef<string[]>([]);
  const isReadOnly = onChange === undefined;
  const first = useRef({ value, language, placeholder, minHeight, label, autoFocus, isReadOnly });
  useEffect(() => {
    changed.current = onChange;
  });
  useEffect(() => {
    if (container.current === null) return undefined;
    const begin = first.current;
    // The content security policy forbids style elements; inside a shadow root the editor uses adopted style
    // sheets instead.
    const root = container.current.shadowRoot ?? container.current.attachShadow({ mode: 'open', delegatesFocus: true });
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
          settingsCompartment.of(mutableSettings(begin.label, begin.isReadOnly)),
          ...(begin.language === 'json' ? [json()] : []),
          ...(begin.placeholder === undefined ? [] : [placeholderOf(begin.placeholder)]),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged || changed.current === undefined) return;
            const text = update.state.doc.toString();
            typedTexts.current.push(text);
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
    view.current?.dispatch({ effects: settingsCompartment.reconfigure(mutableSettings(label, isReadOnly)) });
  }, [label, isReadOnly]);
  // A value from outside replaces the text. The user's own typing also comes back as a value, maybe after
  // more was typed, and is ignored.
  useEffect(() => {
    const editor = view.current;
    if (editor === null) return;
    const own = typedTexts.current.indexOf(value);
    if (own >= 0) {
      typedTexts.current.splice(0, own + 1);
      return;
    }
    if (editor.state.doc.toString() !== value) {
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
    }
    typedTexts.current = [];
  }, [value]);
  // Dialogs trap the focus among the elements that they can see to be focusable; this wrapper passes it on to
  // the text.
  return <div ref={container} tabIndex={0} className={`${css.editor} ${isInvalid === true ? css.invalid : ''}`} />;
}
