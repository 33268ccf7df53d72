// The question to a person: arguments, which can be edited, a note, and the buttons to approve or deny.
import { Check, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';

import type { Approval, DecideApproval } from '@/api/approvals';
import { ApiError, errorText } from '@/api/client';
import { ApprovalArguments, type Drawing } from '@/components/approval/ApprovalArguments';
import { DenyDialog } from '@/components/approval/DenyDialog';
import { Button } from '@/components/Button';
import { TextField } from '@/components/Field';
import { ErrorNote, Hint, WarningNote } from '@/components/Note';
import { focusFirstInvalid } from '@/components/schema-form/focus';
import { isSame, type JsonObject } from '@/components/schema-form/schema';
import { texts, useTexts } from '@/i18n/language';

import css from './ApprovalCard.module.css';

const TEXTS = texts(
  {
    approve: 'Approve', approveEdited: 'Approve as edited', deny: 'Deny', note: 'Your note', noteHint: 'Stored with the decision.',
    onlyEditors: 'Editors of this space decide.', decide: 'Decide',
    changed: 'The tool was changed after the approval was requested. If you approve, approval is requested again for the new version.',
  },
  {
    approve: '批准', approveEdited: '按修改后的参数批准', deny: '拒绝', note: '你的备注', noteHint: '与决定一同记录。',
    onlyEditors: '由本空间的编辑者决定。', decide: '决定',
    changed: '提出审批之后工具有改动。批准后会按工具的当前版本再次询问。',
  },
);

/** The state of the mutation that decides. */
export interface Deciding {
  mutate: (body: DecideApproval) => void;
  reset: () => void;
  isPending: boolean;
  error: Error | null;
}

interface Props {
  approval: Approval;
  drawing: Drawing;
  deciding: Deciding;
  mayDecide: boolean;
  /** True if the tool was changed after the approval was requested. */
  isChanged: boolean;
  idPrefix: string;
  /** The level of its headings. */
  level: 2 | 3;
}

export function ApprovalForm({ approval, drawing, deciding, mayDecide, isChanged, idPrefix, level }: Props) {
  const t = useTexts(TEXTS);
  const [edited, setEdited] = useState<JsonObject>();
  const [isBroken, setIsBroken] = useState(false);
  const [note, setNote] = useState('');
  const [isDenying, setIsDenying] = useState(false);
  const container = useRef<HTMLDivElement>(null);
  const { error, isPending } = deciding;
  const violations = error instanceof ApiError ? error.violations : [];
  useEffect(() => {
    if (error !== null && container.current !== null) focusFirstInvalid(container.current);
  }, [error]);
  const isEdited = edited !== undefined && !isSame(edited, approval.arguments);
  const noteOf = (text: string) => (text.trim() === '' ? {} : { note: text.trim() });
  const approve = () => deciding.mutate({ decision: 'approve', version: approval.version, ...noteOf(note), ...(isEdited ? { arguments: edited } : {}) });
  const edit = (value: JsonObject | undefined) => {
    setEdited(value);
    if (value === undefined) setIsBroken(false);
    // The error refers to the value before the edit.
    if (error !== null) deciding.reset();
  };
  const deny = () => {
    deciding.reset();
    setIsDenying(true);
  };
  return (
    <div ref={container} className={css.body}>
      <ApprovalArguments
        approval={approval} drawing={drawing} edited={edited} onEdit={edit} onBroken={setIsBroken} mayEdit={mayDecide} errors={violations} idPrefix={idPrefix} level={level}
      />
      {mayDecide ? (
        <div role="group" aria-label={t.decide} className={css.decide}>
          {approval.notice !== null && <WarningNote>{approval.notice}</WarningNote>}
          {isChanged && <WarningNote>{t.changed}</WarningNote>}
          <TextField label={t.note} description={t.noteHint} value={note} onChange={setNote} rows={2} />
          {/* Violations are shown at their fields. */}
          {error !== null && violations.length === 0 && !isDenying && <ErrorNote>{errorText(error)}</ErrorNote>}
          <Button look="primary" icon={<Check aria-hidden />} isPending={isPending} isDisabled={isBroken} onPress={approve}>
            {edited === undefined ? t.approve : t.approveEdited}
          </Button>
          <Button look="danger" icon={<X aria-hidden />} isDisabled={isPending} onPress={deny}>{t.deny}</Button>
        </div>
      ) : <div className={css.decide}><Hint>{t.onlyEditors}</Hint></div>}
      <DenyDialog
        toolName={approval.toolName ?? '—'} note={note} isOpen={isDenying} isPending={isPending} error={error}
        onClose={() => setIsDenying(false)} onDeny={(why) => deciding.mutate({ decision: 'deny', version: approval.version, ...noteOf(why) })}
      />
    </div>
  );
}
