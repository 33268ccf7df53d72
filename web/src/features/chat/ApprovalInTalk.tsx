// A call that a person has to approve, where it is waited for: what it would do, to be changed, approved or denied.
import { useQuery } from '@tanstack/react-query';
import { Check, X } from 'lucide-react';
import { useLayoutEffect, useRef, useState } from 'react';

import type { Approval } from '@/api/approvals';
import { api, ApiError, ask, wordsOf } from '@/api/client';
import { useMay } from '@/api/me';
import { useDecide } from '@/api/useDecide';
import { AskedArguments } from '@/components/approval/AskedArguments';
import { DenyDialog } from '@/components/approval/DenyDialog';
import { Button } from '@/components/Button';
import { ErrorNote, Hint } from '@/components/Note';
import { Loading } from '@/components/Page';
import { asSchema, isSame, type JsonObject } from '@/components/schema-form/schema';
import { useNow } from '@/components/useNow';
import { useFormat } from '@/i18n/format';
import { useWords, words } from '@/i18n/language';

import css from './CallCard.module.css';

const WORDS = words(
  {
    asks: 'This call waits for a person.', expires: (when: string) => `Its time is over ${when}.`, because: (rule: string) => `It asks because ${rule}.`,
    approve: 'Approve', approveEdited: 'Approve as edited', deny: 'Deny', onlyEditors: 'Editors of this space decide.', decided: 'Decided. The answer goes on.',
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
  /** The question is gone, with whoever was in it. */
  onLeft: () => void;
}

export function ApprovalInTalk({ id, onLeft }: Props) {
  const approval = useQuery({
    queryKey: ['approvals', 'one', id],
    queryFn: () => ask(api.GET('/api/approvals/{id}', { params: { path: { id } } })),
    // Somebody else may decide.
    refetchInterval: ({ state: { data } }) => (data === undefined || data.status === 'waiting' ? PAUSE : false),
    retry: 3,
  });
  const t = useWords(WORDS);
  if (approval.data === undefined) return <div className={css.ask}>{approval.error === null ? <Loading /> : <ErrorNote>{wordsOf(approval.error)}</ErrorNote>}</div>;
  if (approval.data.status !== 'waiting') return <div className={css.ask}><p className="quiet">{t.decided}</p></div>;
  return <Question key={approval.data.version} approval={approval.data} onLeft={onLeft} />;
}

/** Takes up a focus that is nowhere: a dialog takes a moment to close, and gives it back to what is no more. */
function takeUp(by: () => void, tries: number): void {
  if (document.activeElement === document.body) by();
  if (tries > 0) setTimeout(takeUp, BETWEEN, by, tries - 1);
}

function Question({ approval, onLeft }: { approval: Approval } & Pick<Props, 'onLeft'>) {
  const t = useWords(WORDS);
  const format = useFormat();
  const now = useNow(10_000);
  const mayDecide = useMay('editor');
  const [edited, setEdited] = useState<JsonObject>();
  const [isBroken, setIsBroken] = useState(false);
  const [isDenying, setIsDenying] = useState(false);
  const deciding = useDecide(approval, () => setIsDenying(false));
  const { error, isPending, isSuccess } = deciding;
  const place = useRef<HTMLDivElement>(null);
  // What came of it may be told before the answer to whoever decides is there.
  const isTheirs = useRef(false);
  useLayoutEffect(() => {
    isTheirs.current = isDenying || isPending || isSuccess;
  }, [isDenying, isPending, isSuccess]);
  useLayoutEffect(() => {
    const question = place.current;
    return () => {
      if (isTheirs.current || question?.contains(document.activeElement) === true) takeUp(onLeft, TRIES);
    };
  }, [onLeft]);
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
    <div ref={place} className={css.ask}>
      <p className={css.asks}>
        <strong>{t.asks}</strong>
        {because !== null && <span>{t.because(because)}</span>}
        {notice !== null && <span>{notice}</span>}
        {expiresAt !== null && <span className="quiet">{t.expires(format.ago(expiresAt, now))}</span>}
      </p>
      <AskedArguments
        level={2} approval={approval} edited={edited} onBroken={setIsBroken} mayEdit={mayDecide} errors={violations} idPrefix={`ask-${approval.id}`}
        drawing={{ schema: tool.data === undefined ? undefined : asSchema(tool.data.inputSchema), isLoading: tool.isLoading, error: tool.error }}
        onEdit={(value) => {
          setEdited(value);
          if (value === undefined) setIsBroken(false);
          if (error !== null) deciding.reset();
        }}
      />
      {error !== null && violations.length === 0 && !isDenying && <ErrorNote>{wordsOf(error)}</ErrorNote>}
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
