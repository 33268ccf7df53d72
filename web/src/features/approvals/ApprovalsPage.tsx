// The list of calls that wait for approval: one card each, the oldest first.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleCheck, CircleSlash } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';

import { type Approval, approvalsQuery } from '@/api/approvals';
import type { ApprovalRemoval } from '@/api/useDecide';
import { ErrorNote } from '@/components/Note';
import { LoadFailed, Loading, Page } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import { ApprovalCard, cardId } from './ApprovalCard';
import css from './ApprovalsPage.module.css';
import { Decided } from './Decided';
import { NoApprovals } from './NoApprovals';

const TEXTS = texts(
  {
    title: 'Approvals', about: 'Calls that need approval: check the arguments, edit them if needed, decide.', more: (count: string) => `${count} more are waiting. They appear as these are decided.`, task: 'Open task', list: 'Waiting calls',
    approve: (tool: string) => `Approved: ${tool} continues.`, deny: (tool: string) => `Denied: ${tool} is not called.`,
  },
  {
    title: '审批', about: '等待人工决定的调用：查看、按需修改、作出决定。', more: (count: string) => `还有 ${count} 项在等待，处理完这些后会依次出现。`, task: '打开任务', list: '等待审批的调用',
    approve: (tool: string) => `已批准：${tool} 将继续执行。`, deny: (tool: string) => `已拒绝：${tool} 不会被调用。`,
  },
);

interface RemovedApproval {
  approval: Approval;
  how: ApprovalRemoval;
  /** The id of the card that gets the focus. */
  next: string | undefined;
}

export function ApprovalsPage() {
  const t = useTexts(TEXTS);
  const { data, error, refetch } = useQuery(approvalsQuery);
  const format = useFormat();
  const hidden = data === undefined || data.nextCursor === null ? 0 : data.total - data.items.length;
  const [removed, setRemoved] = useState<RemovedApproval>();
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (removed === undefined) return;
    // After the closing dialog has tried to restore the focus to a removed element.
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const card = removed.next === undefined ? null : document.getElementById(cardId(removed.next));
      (card ?? container.current)?.focus();
    }));
  }, [removed]);
  const leave = (approval: Approval, how: ApprovalRemoval) => {
    const items = data?.items ?? [];
    const at = items.findIndex(({ id }) => id === approval.id);
    setRemoved({ approval, how, next: (items[at + 1] ?? items[at - 1])?.id });
  };
  return (
    <Page title={t.title} about={t.about}>
      <div ref={container} tabIndex={-1} role="group" aria-label={t.list} className={css.list}>
        <div role="status">{removed !== undefined && <LastDecision removed={removed} />}</div>
        {error !== null && <LoadFailed error={error} again={() => void refetch()} />}
        {data === undefined && error === null && <Loading />}
        {data?.items.length === 0 && <NoApprovals />}
        {data?.items.map((approval) => (
          // The version is part of the key: a call that is asked again for a changed tool is a new question.
          <ApprovalCard key={`${approval.id} ${approval.version}`} approval={approval} onRemoved={(how) => leave(approval, how)} />
        ))}
        {hidden > 0 && <p className="quiet small">{t.more(format.count(hidden))}</p>}
      </div>
    </Page>
  );
}

/** The decision about the last approval. */
function LastDecision({ removed: { approval, how } }: { removed: RemovedApproval }) {
  const t = useTexts(TEXTS);
  if ('refusal' in how) {
    return <ErrorNote>{how.refusal}{how.now !== undefined && <p><Decided approval={how.now} /></p>}</ErrorNote>;
  }
  const isApproved = how.decision === 'approve';
  return (
    <p className={css.lastDecision}>
      {isApproved ? <CircleCheck size={15} aria-hidden className={css.good} /> : <CircleSlash size={15} aria-hidden />}
      {t[how.decision](approval.toolName ?? '—')}
      <Link to="/tasks" search={{ view: undefined, tool: undefined, task: approval.id }}>{t.task}</Link>
    </p>
  );
}
