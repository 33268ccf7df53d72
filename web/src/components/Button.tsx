// Buttons: `primary` for the main action of a page, `danger` for actions that cannot be undone.
import { LoaderCircle } from 'lucide-react';
import type { ReactNode, Ref } from 'react';
import { Button as AriaButton, type ButtonProps as AriaProps, Tooltip, TooltipTrigger } from 'react-aria-components';

import css from './Button.module.css';

export type Look = 'primary' | 'plain' | 'quiet' | 'danger';

export interface ButtonProps extends Omit<AriaProps, 'className' | 'children' | 'style'> {
  look?: Look;
  small?: boolean;
  icon?: ReactNode;
  children: ReactNode;
}

/**
 * A pending button keeps the focus and ignores presses. React Aria's own pending state announces the button
 * by its id, which no longer exists when the button is removed together with its dialog.
 */
function waiting({ isPending, ...props }: AriaProps): AriaProps {
  if (isPending !== true) return props;
  return { ...props, type: 'button', 'aria-disabled': 'true', onPress: () => undefined };
}

export function Button({ look = 'plain', small = false, icon, children, ...rest }: ButtonProps) {
  return (
    <AriaButton {...waiting(rest)} className={`${css.button} ${css[look]} ${small ? css.small : ''}`}>
      {rest.isPending === true ? <LoaderCircle className={css.spin} aria-hidden /> : icon}
      <span className={css.label}>{children}</span>
    </AriaButton>
  );
}

export interface IconButtonProps extends Omit<AriaProps, 'className' | 'children' | 'style' | 'aria-label'> {
  /** The accessible name of the icon, also its tooltip. */
  label: string;
  children: ReactNode;
  look?: Look;
  ref?: Ref<HTMLButtonElement>;
}

export function IconButton({ label, children, look = 'quiet', ref, ...rest }: IconButtonProps) {
  return (
    <TooltipTrigger delay={400}>
      <AriaButton {...(ref === undefined ? {} : { ref })} {...waiting(rest)} aria-label={label} className={`${css.button} ${css.icon} ${css[look]}`}>
        {rest.isPending === true ? <LoaderCircle className={css.spin} aria-hidden /> : children}
      </AriaButton>
      <Tooltip className={css.tip ?? ''} offset={6}>
        {label}
      </Tooltip>
    </TooltipTrigger>
  );
}
