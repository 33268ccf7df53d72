// The call behind an approval link: the question while it waits, then its outcome.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { CircleCheck, CircleSlash, Hourglass } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';

import { type ApprovalLink, decideByLink } from '@/api/approvalLink';
import type { Approval, DecideApproval } from '@/api/approvals';
import { ApiError } from '@/api/client';
import type { JsonValue } from '@/components/schema-form/schema';
import { Value } from '@/components/Value';
import { texts, useTexts } from '@/i18n/language';

import card from './ApprovalCard.module.css';
import { ApprovalHead } from './ApprovalHead';
import { UnnamedAsker } from './Asker';
import css from './LinkPage.module.css';
import { ApprovalForm } from './ApprovalForm';
import { schemaOf } from './schemaOf';

const TEXTS = texts(
  {
    title: (tool: string) => `Approve ${tool}?`,
    about: 'This call is made only if you approve it. Check the arguments, edit them if needed, and decide.',
    approved: 'Approved', denied: 'Denied', expired: 'Expired',
    approvedText: (tool: string) => `${tool} continues. You can close this page.`, deniedText: (tool: string) => `${tool} is not called. You can close this page.`,
    expiredText: (tool: string) => `There was no decision in time, so ${tool} is not called.`, note: 'Note', called: 'Approved with edited arguments', asked: 'Arguments',
  },
  {
    title: (tool: string) => `批准 ${tool}？`,
    about: '只有在你批准后，才会执行这个调用。请查看参数，按需修改，然后作出决定。',
    approved: '已批准', denied: '已拒绝', expired: '已过期',
    approvedText: (tool: string) => `${tool} 将继续执行。你可以关闭此页面。`, deniedText: (tool: string) => `${tool} 不会被调用。你可以关闭此页面。`,
    expiredText: (tool: string) => `未在期限内作出决定，${tool} 不会被调用。`, note: '备注', called: '按以下修改后的参数批准', asked: '参数',
  },
);

const CONFLICT = 409;

export function LinkApproval({ approval, link }: { approval: Approval; link: ApprovalLink }) {
  const t = useTexts(TEXTS);
  const queries = useQueryClient();
  const again = () => queries.invalidateQueries({ queryKey: ['approvals', 'by link', link.id] });
  const deciding = useMutation({
    mutationFn: (body: DecideApproval) => decideByLink(link, body),
    onSuccess: again,
    // Another user decided first: the page then shows that decision.
    onError: (error) => (error instanceof ApiError && error.status === CONFLICT ? again() : undefined),
  });
  if (approval.status !== 'waiting') return <Outcome approval={approval} isFocused={!deciding.isIdle} />;
  const { arguments: args, effect } = approval;
  return (
    <>
      <title>{`${t.title(approval.toolName ?? '—')} · Haft`}</title>
      <p className={css.about}>{t.about}</p>
      <article className={`${card.card} ${effect === 'write' ? card.writes : ''}`}>
        <ApprovalHead approval={approval} title={<h1 className={css.title}>{approval.toolName}</h1>} asker={<UnnamedAsker approval={approval} />} />
        <ApprovalForm
          level={2}
          approval={approval} deciding={deciding} mayDecide isChanged={false} idPrefix="approval"
          drawing={{ schema: schemaOf(args as JsonValue), isLoading: false, error: null }}
        />
      </article>
    </>
  );
}

type Over = Exclude<Approval['status'], 'waiting'>;
const ICONS: Record<Over, ReactNode> = {
  approved: <CircleCheck aria-hidden />, denied: <CircleSlash aria-hidden />, expired: <Hourglass aria-hidden />,
};

/** The outcome; takes the focus if the decision was made here. */
function Outcome({ approval, isFocused }: { approval: Approval; isFocused: boolean }) {
  const t = useTexts(TEXTS);
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // After the closing dialog has tried to restore the focus to a removed element.
    if (isFocused) requestAnimationFrame(() => requestAnimationFrame(() => container.current?.focus()));
  }, [isFocused]);
  const { status, decision, toolName } = approval;
  const over: Over = status === 'waiting' ? 'expired' : status;
  const tool = toolName ?? '—';
  const note = decision?.note ?? null;
  const edited = decision?.arguments ?? null;
  return (
    <div ref={container} tabIndex={-1} className={`${css.card} ${css.outcome}`}>
      <title>{`${t[over]} · Haft`}</title>
      <span className={`${css.icon} ${css[over]}`}>{ICONS[over]}</span>
      <h1 className={css.title}>{t[over]}</h1>
      <p>{t[`${over}Text`](tool)}</p>
      {note !== null && <dl className={css.note}><dt>{t.note}</dt><dd>{note}</dd></dl>}
      <section className={css.arguments}>
        <h2>{edited === null ? t.asked : t.called}</h2>
        <Value value={edited ?? approval.arguments} label={t.asked} />
      </section>
    </div>
  );
}
