// Typing over a selection. Browsers give the new text the appearance of the replaced text by an inline style,
// which the content security policy refuses; so the editor replaces the selection itself.
import { EditorView } from '@codemirror/view';

export const typeOver = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { from, to, empty } = view.state.selection.main;
    const text = event.data;
    if (event.inputType !== 'insertText' || text === null || empty || view.composing || view.state.readOnly) return false;
    const insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: 'input.type', scrollIntoView: true });
    // Other input handlers come first, such as the one that puts brackets around the selection.
    const isTaken = view.state.facet(EditorView.inputHandler).some((take) => take(view, from, to, text, insert));
    if (!isTaken) view.dispatch(insert());
    event.preventDefault();
    return true;
  },
});
