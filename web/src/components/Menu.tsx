// A button that opens a menu of actions.
import type { ReactNode } from 'react';
import { Menu as AriaMenu, MenuItem, MenuTrigger, Popover } from 'react-aria-components';

import css from './Menu.module.css';

export interface MenuAction {
  id: string;
  label: string;
  icon?: ReactNode;
  isDangerous?: boolean;
  /** If set on all items, the menu is a choice, and assistive technology announces the selected item. */
  isSelected?: boolean;
  onAction: () => void;
}

export function Menu({ label, trigger, actions }: { label: string; trigger: ReactNode; actions: readonly MenuAction[] }) {
  const isChoice = actions.some(({ isSelected }) => isSelected !== undefined);
  const chosen = actions.filter(({ isSelected }) => isSelected === true).map(({ id }) => id);
  return (
    <MenuTrigger>
      {trigger}
      <Popover className={css.popover ?? ''}>
        <AriaMenu
          aria-label={label} className={css.menu ?? ''}
          {...(isChoice ? { selectionMode: 'single' as const, selectedKeys: chosen, disallowEmptySelection: true } : {})}
        >
          {actions.map((action) => (
            <MenuItem
              key={action.id} id={action.id} onAction={action.onAction} textValue={action.label}
              className={`${css.item} ${action.isDangerous === true ? css.danger : ''}`}
            >
              {action.icon}
              <span>{action.label}</span>
              {action.isSelected === true && <span className={css.check} aria-hidden>✓</span>}
            </MenuItem>
          ))}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  );
}
