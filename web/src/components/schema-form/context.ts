// What every field of a form knows of the form.
import { createContext, use } from 'react';

import type { Violation } from '@/api/client';

import type { JsonSchema } from './schema';

export interface FormKnows {
  /** Where references lead. */
  root: JsonSchema;
  errors: readonly Violation[];
  isDisabled: boolean;
  idPrefix: string;
  /** A field holds what cannot be sent, such as half a JSON text; or no longer does. */
  setBroken: (path: string, isBroken: boolean) => void;
}

export const FormContext = createContext<FormKnows>({
  root: {}, errors: [], isDisabled: false, idPrefix: '', setBroken: () => undefined,
});

export function useForm(): FormKnows {
  return use(FormContext);
}
