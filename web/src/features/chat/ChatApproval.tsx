// A call that waits for approval, inside the conversation: its arguments can be edited, and it can be
// approved or denied.
import { useQuery } from '@tanstack/react-query';
import { Check, X } from 'lucide-react';
import { useLayoutEffect, useRef, useState } from 'react';

import type { Approval } from '@/api/approvals';
import { api, ApiError, ask, errorText } from '@/api/client';
import { useMay } from '@/api/me';
import { useDecide } from '@/api/useDecide';
import { ApprovalArguments } from '@/components/approval/ApprovalArguments';
import { DenyDialog } from '@/components/approval/DenyDialog';
import { Button } from '@/components/Button';
import { ErrorNote, Hint } from '@/components/Note';
import { Loading } from '@/components/Page';
import { asSchema, isSame, type JsonObject } from '@/components/schema-form/schema';
import { useNow } from '@/components/useNow';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import css from './CallCard.module.css';

const TEXTS = texts(
  {
    asks: 'Needs approval.', expires: (when: string) => `Expires ${when}.`, because: (rule: string) => `Condition: ${rule}.`,
    approve: 'Approve', approveEdited: 'Approve as edited', deny: 'Deny', onlyEditors: 'Editors of this space decide.', decided: 'Decided. The response continues.',
  },
  {
    asks: '此调用正在等待审批。', expires: (when: string) => `${when}到期。`, because: (rule: string) => `询问条件：${rule}。`,
    approve: '批准', approveEdited: '按修改后的参数批准', deny: '拒绝', onlyEditors: '由本空间的编辑者决定。', decided: '已决定，回答将继续。',
  },
);

const PAUSE = 3000;
const TRIES = 20;
const BETWEEN = 50;

interface Props {
  id: string;
  /** Called when the question is removed while it had the focus. */
  onFocusLost: () => void;
}

export function ChatApproval({ id, onFocusLost }: Props) {
  const approval = useQuery({
    queryKey: ['approvals', 'one', id],
    queryFn: () => ask(api.GET('/api/approvals/{id}', { params: { path: { id } } })),
    // The call may be decided elsewhere.
    refetchInterval: ({ state: { data } }) => (data === undefined || data.status === 'waiting' ? PAUSE : false),
    retry: 3,
  });
  const t = useTexts(TEXTS);
  if (approval.data === undefined) return <div className={css.approval}>{approval.error === null ? <Loading /> : <ErrorNote>{errorText(approval.error)}</ErrorNote>}</div>;
  if (approval.data.status !== 'waiting') return <div className={css.approval}><p className="quiet">{t.decided}</p></div>;
  return <ApprovalQuestion key={approval.data.version} approval={approval.data} onFocusLost={onFocusLost} />;
}

/**
 * Calls `by` while no element has the focus, and checks for a while: a closing dialog restores the focus to
 * an element that no longer exists.
 */
function focusWhenLost(by: () => void, tries: number): void {
  if (document.activeElement === document.body) by();
  if (tries > 0) setTimeout(focusWhenLost, BETWEEN, by, tries - 1);
}

function ApprovalQuestion({ approval, onFocusLost }: { approval: Approval } & Pick<Props, 'onFocusLost'>) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const now = useNow(10_000);
  const mayDecide = useMay('editor');
  const [edited, setEdited] = useState<JsonObject>();
  const [isBroken, setIsBroken] = useState(false);
  const [isDenying, setIsDenying] = useState(false);
  const deciding = useDecide(approval, () => setIsDenying(false));
  const { error, isPending, isSuccess } = deciding;
  const container = useRef<HTMLDivElement>(null);
  // The event with the result may arrive before the response to this user's decision.
  const isTheirs = useRef(false);
  useLayoutEffect(() => {
    isTheirs.current = isDenying || isPending || isSuccess;
  }, [isDenying, isPending, isSuccess]);
  useLayoutEffect(() => {
    const question = container.current;
    return () => {
      if (isTheirs.current || question?.contains(document.activeElement) === true) focusWhenLost(onFocusLost, TRIES);
    };
  }, [onFocusLost]);
  const { toolId, version, because, notice, expiresAt } = approval;
  const tool = useQuery({
    queryKey: ['tools', 'one', toolId],
    queryFn: () => ask(api.GET('/api/tools/{id}', { params: { path: { id: toolId ?? '' } } })),
    enabled: toolId !== null,
    retry: false,
  });
  const violations = error instanceof ApiError ? error.violations : [];
  const isEdited = edited !== undefined && !isSame(edited, approval.arguments);
  return (
    <div ref={container} className={css.approval}>
      <p className={css.approvalHead}>
        <strong>{t.asks}</strong>
        {because !== null && <span>{t.because(because)}</span>}
        {notice !== null && <span>{notice}</span>}
        {expiresAt !== null && <span className="quiet">{t.expires(format.ago(expiresAt, now))}</span>}
      </p>
      <ApprovalArguments
        level={2} approval={approval} edited={edited} onBroken={setIsBroken} mayEdit={mayDecide} errors={violations} idPrefix={`ask-${approval.id}`}
        drawing={{ schema: tool.data === undefined ? undefined : asSchema(tool.data.inputSchema), isLoading: tool.isLoading, error: tool.error }}
        onEdit={(value) => {
          setEdited(value);
          if (value === undefined) setIsBroken(false);
          if (error !== null) deciding.reset();
        }}
      />
      {error !== null && violations.length === 0 && !isDenying && <ErrorNote>{errorText(error)}</ErrorNote>}
      {mayDecide ? (
        <div className={css.decide}>
          <Button
            look="primary" icon={<Check aria-hidden />} isPending={isPending} isDisabled={isBroken}
            onPress={() => deciding.mutate({ decision: 'approve', version, ...(isEdited ? { arguments: edited } : {}) })}
          >
            {edited === undefined ? t.approve : t.approveEdited}
          </Button>
          <Button look="danger" icon={<X aria-hidden />} isDisabled={isPending} onPress={() => setIsDenying(true)}>{t.deny}</Button>
        </div>
      ) : <Hint>{t.onlyEditors}</Hint>}
      <DenyDialog
        toolName={approval.toolName ?? '—'} note="" isOpen={isDenying} isPending={isPending} error={error} onClose={() => setIsDenying(false)}
        onDeny={(why) => deciding.mutate({ decision: 'deny', version, ...(why.trim() === '' ? {} : { note: why.trim() }) })}
      />
    </div>
  );
}
