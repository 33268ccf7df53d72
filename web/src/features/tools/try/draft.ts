// The arguments that somebody is writing, kept for this browser tab so that nothing is lost on the way.
import { initialValue } from '@/components/schema-form/initial';
import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from '@/components/schema-form/schema';

export type Mode = 'form' | 'json';

export interface Draft {
  mode: Mode;
  value: JsonObject;
  /** As it stands in the editor, which may be no JSON yet. */
  text: string;
}

const keyOf = (tool: string) => `haft.try.${tool}`;

export function newDraft(schema: JsonSchema): Draft {
  const value = initialValue(schema);
  return { mode: 'form', value, text: JSON.stringify(value, null, 2) };
}

export function loadDraft(tool: string, schema: JsonSchema): Draft {
  try {
    const kept = JSON.parse(sessionStorage.getItem(keyOf(tool)) ?? 'null') as Partial<Draft> | null;
    if (kept !== null && isJsonObject(kept.value) && typeof kept.text === 'string') {
      return { mode: kept.mode === 'json' ? 'json' : 'form', value: kept.value, text: kept.text };
    }
  } catch {
    // What cannot be read is begun anew.
  }
  return newDraft(schema);
}

export function keepDraft(tool: string, draft: Draft): void {
  try {
    sessionStorage.setItem(keyOf(tool), JSON.stringify(draft));
  } catch {
    // Too large to be kept; it is still on the page.
  }
}

export type Read = { value: JsonObject } | { why: string | null };

/** The arguments in a text; `why` is null where it is JSON, but no object. */
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
