// What somebody may do in a space, each role with what it means.
import type { Role } from '@/api/me';
import { Select } from '@/components/Field';
import { useWords } from '@/i18n/language';

import { ROLES } from '../words';

const ORDER: readonly Role[] = ['viewer', 'caller', 'editor', 'admin'];

export interface RoleSelectProps {
  label: string;
  isLabelHidden?: boolean;
  value: Role;
  onChange: (role: Role) => void;
}

export function RoleSelect(props: RoleSelectProps) {
  const roles = useWords(ROLES);
  return <Select {...props} options={ORDER.map((role) => ({ value: role, label: roles[role], description: roles[`${role}About`] }))} />;
}
