// What waits for a person: one card for each call, the oldest first.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleCheck, CircleSlash } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';

import { type Approval, approvalsQuery } from '@/api/approvals';
import type { Leaving } from '@/api/useDecide';
import { ErrorNote } from '@/components/Note';
import { Loading, LoadFailed, Page } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { useWords, words } from '@/i18n/language';

import { ApprovalCard, cardId } from './ApprovalCard';
import css from './ApprovalsPage.module.css';
import { Decided } from './Decided';
import { NoApprovals } from './NoApprovals';

const WORDS = words(
  {
    title: 'Approvals', about: 'Calls that wait for a person: look, change what is not right, decide.', more: (count: string) => `${count} more wait. They come up as these are decided.`, task: 'Open its task', list: 'Calls that wait',
    approve: (tool: string) => `Approved: ${tool} goes ahead.`, deny: (tool: string) => `Denied: ${tool} is not called.`,
  },
  {
    title: '审批', about: '等待人工决定的调用：查看、按需修改、作出决定。', more: (count: string) => `还有 ${count} 项在等待，处理完这些后会依次出现。`, task: '打开任务', list: '等待审批的调用',
    approve: (tool: string) => `已批准：${tool} 将继续执行。`, deny: (tool: string) => `已拒绝：${tool} 不会被调用。`,
  },
);

interface Left {
  approval: Approval;
  how: Leaving;
  /** The card that is looked at now. */
  next: string | undefined;
}

export function ApprovalsPage() {
  const t = useWords(WORDS);
  const { data, error, refetch } = useQuery(approvalsQuery);
  const format = useFormat();
  const hidden = data === undefined || data.nextCursor === null ? 0 : data.total - data.items.length;
  const [left, setLeft] = useState<Left>();
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (left === undefined) return;
    // Once a dialog has given the focus back to what is no longer there.
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const card = left.next === undefined ? null : document.getElementById(cardId(left.next));
      (card ?? place.current)?.focus();
    }));
  }, [left]);
  const leave = (approval: Approval, how: Leaving) => {
    const items = data?.items ?? [];
    const at = items.findIndex(({ id }) => id === approval.id);
    setLeft({ approval, how, next: (items[at + 1] ?? items[at - 1])?.id });
  };
  return (
    <Page title={t.title} about={t.about}>
      <div ref={place} tabIndex={-1} role="group" aria-label={t.list} className={css.list}>
        <div role="status">{left !== undefined && <Said left={left} />}</div>
        {error !== null && <LoadFailed error={error} again={() => void refetch()} />}
        {data === undefined && error === null && <Loading />}
        {data?.items.length === 0 && <NoApprovals />}
        {data?.items.map((approval) => (
          // A call that is asked about again, since its tool was changed, is another question.
          <ApprovalCard key={`${approval.id} ${approval.version}`} approval={approval} onLeft={(how) => leave(approval, how)} />
        ))}
        {hidden > 0 && <p className="quiet small">{t.more(format.count(hidden))}</p>}
      </div>
    </Page>
  );
}

/** What became of the last one. */
function Said({ left: { approval, how } }: { left: Left }) {
  const t = useWords(WORDS);
  if ('refusal' in how) {
    return <ErrorNote>{how.refusal}{how.now !== undefined && <p><Decided approval={how.now} /></p>}</ErrorNote>;
  }
  const isApproved = how.decision === 'approve';
  return (
    <p className={css.said}>
      {isApproved ? <CircleCheck size={15} aria-hidden className={css.good} /> : <CircleSlash size={15} aria-hidden />}
      {t[how.decision](approval.toolName ?? '—')}
      <Link to="/tasks" search={{ view: undefined, tool: undefined, task: approval.id }}>{t.task}</Link>
    </p>
  );
}
