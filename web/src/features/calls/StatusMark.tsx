// The status of a call as icon and text, so that it does not depend on color.
import { CircleCheck, CircleSlash, CircleX } from 'lucide-react';

import type { Status } from './filters';
import css from './StatusMark.module.css';
import { useStatusTexts } from './texts';

const ICONS = { success: CircleCheck, failed: CircleX, cancelled: CircleSlash };

export function StatusMark({ status }: { status: Status }) {
  const t = useStatusTexts();
  const Icon = ICONS[status];
  return <span className={`${css.mark} ${css[status]}`}><Icon size={15} aria-hidden />{t[status]}</span>;
}
