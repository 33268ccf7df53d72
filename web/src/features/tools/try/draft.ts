// The draft of the arguments, saved in session storage so that it survives navigation.
import { initialValue } from '@/components/schema-form/initial';
import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from '@/components/schema-form/schema';

export type Mode = 'form' | 'json';

export interface Draft {
  mode: Mode;
  value: JsonObject;
  /** The text in the JSON editor, which may be invalid. */
  text: string;
}

const keyOf = (tool: string) => `haft.try.${tool}`;

export function newDraft(schema: JsonSchema): Draft {
  const value = initialValue(schema);
  return { mode: 'form', value, text: JSON.stringify(value, null, 2) };
}

export function loadDraft(tool: string, schema: JsonSchema): Draft {
  try {
    const saved = JSON.parse(sessionStorage.getItem(keyOf(tool)) ?? 'null') as Partial<Draft> | null;
    if (saved !== null && isJsonObject(saved.value) && typeof saved.text === 'string') {
      return { mode: saved.mode === 'json' ? 'json' : 'form', value: saved.value, text: saved.text };
    }
  } catch {
    // Unreadable drafts are replaced.
  }
  return newDraft(schema);
}

export function saveDraft(tool: string, draft: Draft): void {
  try {
    sessionStorage.setItem(keyOf(tool), JSON.stringify(draft));
  } catch {
    // The draft is too large for session storage, but stays on the page.
  }
}

export type Read = { value: JsonObject } | { why: string | null };

/** Parses the arguments. `why` is the parse error, or null if the text is JSON but not an object. */
export function readArguments(text: string): Read {
  if (text.trim() === '') return { value: {} };
  try {
    const value = JSON.parse(text) as JsonValue;
    return isJsonObject(value) ? { value } : { why: null };
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

export function withText(draft: Draft, text: string): Draft {
  const read = readArguments(text);
  return { ...draft, text, value: 'value' in read ? read.value : draft.value };
}

export function withValue(draft: Draft, value: JsonObject): Draft {
  return { ...draft, value, text: JSON.stringify(value, null, 2) };
}
