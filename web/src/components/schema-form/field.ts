// The props that all field components share.
import type { ReactNode } from 'react';

import type { JsonSchema, JsonValue } from './schema';

export interface InputProps {
  label: string;
  isLabelHidden: boolean;
  /** Shown beside the label: the property name, the null button, the type switch. */
  aside: ReactNode;
  description: ReactNode;
  schema: JsonSchema;
  path: string;
  depth: number;
  value: JsonValue | undefined;
  /** `undefined` means empty: the property is not sent. */
  onChange: (value: JsonValue | undefined) => void;
  isRequired: boolean;
  isDisabled: boolean;
  error: string | undefined;
}

/** Selects the props that the shared field components accept. */
export function frameOf(props: InputProps) {
  const { label, isLabelHidden, aside, description, isRequired, isDisabled, error } = props;
  return {
    label, isLabelHidden, isRequired, isDisabled, error,
    ...(aside === null ? {} : { aside }), ...(description === null ? {} : { description }),
  };
}
