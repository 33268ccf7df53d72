// Which tool, who asks, by which rule, and until when.
import { Link } from '@tanstack/react-router';
import { Bot, Clock, Eye, Repeat, TriangleAlert, UserRound } from 'lucide-react';
import type { ReactNode } from 'react';

import type { Approval } from '@/api/approvals';
import { short, useAgentName, usePersonName } from '@/api/names';
import { Badge, type Tone } from '@/components/Note';
import { useNow } from '@/components/useNow';
import { useFormat } from '@/i18n/format';
import { useWords, words } from '@/i18n/language';

import css from './ApprovalCard.module.css';

const WORDS = words(
  {
    read: 'Only reads', idempotent: 'Changes, may be repeated', write: 'Changes something', asked: (when: string) => `asked ${when}`,
    expires: (when: string) => `Expires ${when}`, over: 'Its time is over', because: 'Asks because', always: 'Asks each time', by: 'By',
  },
  {
    read: '只读', idempotent: '会改动，可重复', write: '会产生改动', asked: (when: string) => `${when}提出`,
    expires: (when: string) => `${when}过期`, over: '已到期', because: '询问条件', always: '每次都询问', by: '发起者',
  },
);

const TONES: Record<NonNullable<Approval['effect']>, Tone> = { read: 'neutral', idempotent: 'neutral', write: 'warn' };
const ICONS: Record<NonNullable<Approval['effect']>, ReactNode> = {
  read: <Eye size={13} aria-hidden />, idempotent: <Repeat size={13} aria-hidden />, write: <TriangleAlert size={13} aria-hidden />,
};
const TICK = 10_000;
/** From here on one should hurry. */
const SOON = 15 * 60_000;

export function ApprovalHead({ approval, titleId }: { approval: Approval; titleId: string }) {
  const t = useWords(WORDS);
  const format = useFormat();
  const now = useNow(TICK);
  const { toolId, toolName, effect, because, askedAt, expiresAt } = approval;
  const left = expiresAt === null ? undefined : new Date(expiresAt).getTime() - now;
  return (
    <header className={css.head}>
      <div className={css.what}>
        <h2 id={titleId}>
          {toolId === null ? toolName : <Link to="/tools/$id" params={{ id: toolId }} search={{ tab: undefined }}>{toolName}</Link>}
        </h2>
        {effect !== null && <Badge tone={TONES[effect]}>{ICONS[effect]}{t[effect]}</Badge>}
        {expiresAt !== null && left !== undefined && (
          <time dateTime={expiresAt} title={format.time(expiresAt)} className={`${css.expires} ${left < SOON ? css.soon : ''}`}>
            <Clock size={14} aria-hidden />{left <= 0 ? t.over : t.expires(format.ago(expiresAt, now))}
          </time>
        )}
      </div>
      <div className={css.why}>
        <Asker approval={approval} />
        <time dateTime={askedAt} title={format.time(askedAt)}>{t.asked(format.ago(askedAt, now))}</time>
        <span className={css.rule}>{because === null ? t.always : <>{t.because} <code>{because}</code></>}</span>
      </div>
    </header>
  );
}

function Asker({ approval: { agentId, userId } }: { approval: Approval }) {
  const t = useWords(WORDS);
  const agentName = useAgentName();
  const personName = usePersonName();
  const person = userId === null ? undefined : (personName(userId) ?? short(userId));
  return (
    <span className={css.asker}>
      <span className="hidden">{t.by}</span>
      {agentId !== null && (
        <><Bot size={14} aria-hidden /><Link to="/agents/$id" params={{ id: agentId }}>{agentName(agentId) ?? short(agentId)}</Link></>
      )}
      {person !== undefined && <><UserRound size={14} aria-hidden />{person}</>}
      {agentId === null && person === undefined && '—'}
    </span>
  );
}
