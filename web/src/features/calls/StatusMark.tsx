// How a call ended: a sign and a word, so that it needs no colour.
import { CircleCheck, CircleSlash, CircleX } from 'lucide-react';

import type { Status } from './filters';
import css from './StatusMark.module.css';
import { useStatusWords } from './words';

const ICONS = { success: CircleCheck, failed: CircleX, cancelled: CircleSlash };

export function StatusMark({ status }: { status: Status }) {
  const t = useStatusWords();
  const Icon = ICONS[status];
  return <span className={`${css.mark} ${css[status]}`}><Icon size={15} aria-hidden />{t[status]}</span>;
}
