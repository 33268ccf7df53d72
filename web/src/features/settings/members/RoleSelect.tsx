// A select for the role of a member, with a description of each role.
import type { Role } from '@/api/me';
import { Select } from '@/components/Field';
import { useTexts } from '@/i18n/language';

import { ROLES } from '../texts';

const ORDER: readonly Role[] = ['viewer', 'caller', 'editor', 'admin'];

export interface RoleSelectProps {
  label: string;
  isLabelHidden?: boolean;
  value: Role;
  onChange: (role: Role) => void;
}

export function RoleSelect(props: RoleSelectProps) {
  const roles = useTexts(ROLES);
  return <Select {...props} options={ORDER.map((role) => ({ value: role, label: roles[role], description: roles[`${role}About`] }))} />;
}
