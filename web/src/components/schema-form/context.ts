// The state of the form that every field reads through context.
import { createContext, use } from 'react';

import type { Violation } from '@/api/client';

import type { JsonSchema } from './schema';

export interface FormState {
  /** The schema of the whole form, in which `$ref` is resolved. */
  root: JsonSchema;
  errors: readonly Violation[];
  isDisabled: boolean;
  idPrefix: string;
  /** Reports that the field at `path` holds text that cannot be parsed, such as incomplete JSON, or no longer does. */
  setBroken: (path: string, isBroken: boolean) => void;
}

export const FormContext = createContext<FormState>({
  root: {}, errors: [], isDisabled: false, idPrefix: '', setBroken: () => undefined,
});

export function useForm(): FormState {
  return use(FormContext);
}
