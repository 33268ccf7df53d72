// What each kind of field is given.
import type { ReactNode } from 'react';

import type { JsonSchema, JsonValue } from './schema';

export interface InputProps {
  label: string;
  isLabelHidden: boolean;
  /** Beside the label: the raw name, null, the choice of a type. */
  aside: ReactNode;
  description: ReactNode;
  schema: JsonSchema;
  path: string;
  depth: number;
  value: JsonValue | undefined;
  /** `undefined`: left empty, and therefore not sent. */
  onChange: (value: JsonValue | undefined) => void;
  isRequired: boolean;
  isDisabled: boolean;
  error: string | undefined;
}

/** What the shared fields take of it. */
export function frameOf(props: InputProps) {
  const { label, isLabelHidden, aside, description, isRequired, isDisabled, error } = props;
  return {
    label, isLabelHidden, isRequired, isDisabled, error,
    ...(aside === null ? {} : { aside }), ...(description === null ? {} : { description }),
  };
}
