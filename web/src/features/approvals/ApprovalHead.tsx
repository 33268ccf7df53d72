// The head of an approval: tool, caller, the condition that requires the approval, and when it expires.
import { Clock, Eye, Repeat, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';

import type { Approval } from '@/api/approvals';
import { Badge, type Tone } from '@/components/Note';
import { useNow } from '@/components/useNow';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import css from './ApprovalCard.module.css';

const TEXTS = texts(
  {
    read: 'Read-only', idempotent: 'Idempotent write', write: 'Write', asked: (when: string) => `requested ${when}`,
    expires: (when: string) => `Expires ${when}`, over: 'Expired', because: 'Asks if', always: 'Always asks',
  },
  {
    read: '只读', idempotent: '会改动，可重复', write: '会产生改动', asked: (when: string) => `${when}提出`,
    expires: (when: string) => `${when}过期`, over: '已到期', because: '询问条件', always: '每次都询问',
  },
);

const TONES: Record<NonNullable<Approval['effect']>, Tone> = { read: 'neutral', idempotent: 'neutral', write: 'warn' };
const ICONS: Record<NonNullable<Approval['effect']>, ReactNode> = {
  read: <Eye size={13} aria-hidden />, idempotent: <Repeat size={13} aria-hidden />, write: <TriangleAlert size={13} aria-hidden />,
};
const TICK = 10_000;
/** Remaining time from which on the expiry is highlighted. */
const SOON = 15 * 60_000;

export interface ApprovalHeadProps {
  approval: Approval;
  /** The tool's name, as a heading. */
  title: ReactNode;
  asker: ReactNode;
  /** Another action, at the end of the second line. */
  action?: ReactNode;
}

export function ApprovalHead({ approval, title, asker, action }: ApprovalHeadProps) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const now = useNow(TICK);
  const { effect, because, askedAt, expiresAt } = approval;
  const remaining = expiresAt === null ? undefined : new Date(expiresAt).getTime() - now;
  return (
    <header className={css.head}>
      <div className={css.what}>
        {title}
        {effect !== null && <Badge tone={TONES[effect]}>{ICONS[effect]}{t[effect]}</Badge>}
        {expiresAt !== null && remaining !== undefined && (
          <time dateTime={expiresAt} title={format.time(expiresAt)} className={`${css.expires} ${remaining < SOON ? css.soon : ''}`}>
            <Clock size={14} aria-hidden />{remaining <= 0 ? t.over : t.expires(format.ago(expiresAt, now))}
          </time>
        )}
      </div>
      <div className={css.why}>
        {asker}
        <time dateTime={askedAt} title={format.time(askedAt)}>{t.asked(format.ago(askedAt, now))}</time>
        <span className={css.rule}>{because === null ? t.always : <>{t.because} <code>{because}</code></>}</span>
        {action !== undefined && action !== false && <span className={css.action}>{action}</span>}
      </div>
    </header>
  );
}
