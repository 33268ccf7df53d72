// What a person is asked: the arguments, to be changed where they are not right, a note, and the two answers.
import { Check, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';

import type { Approval, DecideApproval } from '@/api/approvals';
import { ApiError, wordsOf } from '@/api/client';
import { AskedArguments, type Drawing } from '@/components/approval/AskedArguments';
import { DenyDialog } from '@/components/approval/DenyDialog';
import { Button } from '@/components/Button';
import { TextField } from '@/components/Field';
import { ErrorNote, Hint, WarningNote } from '@/components/Note';
import { focusFirstWrong } from '@/components/schema-form/focus';
import { isSame, type JsonObject } from '@/components/schema-form/schema';
import { useWords, words } from '@/i18n/language';

import css from './ApprovalCard.module.css';

const WORDS = words(
  {
    approve: 'Approve', approveEdited: 'Approve as edited', deny: 'Deny', note: 'Your note', noteHint: 'On record with the decision.',
    onlyEditors: 'Editors of this space decide.', decide: 'Decide',
    changed: 'The tool was changed since this was asked. Once approved, it is asked again about the tool as it is now.',
  },
  {
    approve: '批准', approveEdited: '按修改后的参数批准', deny: '拒绝', note: '你的备注', noteHint: '与决定一同记录。',
    onlyEditors: '由本空间的编辑者决定。', decide: '决定',
    changed: '提出审批之后工具有改动。批准后会按工具的当前版本再次询问。',
  },
);

/** The way a decision goes, as a mutation has it. */
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
  /** The tool is another one than was asked about. */
  isChanged: boolean;
  idPrefix: string;
  /** Of the headings in it. */
  level: 2 | 3;
}

export function Question({ approval, drawing, deciding, mayDecide, isChanged, idPrefix, level }: Props) {
  const t = useWords(WORDS);
  const [edited, setEdited] = useState<JsonObject>();
  const [isBroken, setIsBroken] = useState(false);
  const [note, setNote] = useState('');
  const [isDenying, setIsDenying] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const { error, isPending } = deciding;
  const violations = error instanceof ApiError ? error.violations : [];
  useEffect(() => {
    if (error !== null && place.current !== null) focusFirstWrong(place.current);
  }, [error]);
  const isEdited = edited !== undefined && !isSame(edited, approval.arguments);
  const said = (text: string) => (text.trim() === '' ? {} : { note: text.trim() });
  const approve = () => deciding.mutate({ decision: 'approve', version: approval.version, ...said(note), ...(isEdited ? { arguments: edited } : {}) });
  const edit = (value: JsonObject | undefined) => {
    setEdited(value);
    if (value === undefined) setIsBroken(false);
    // What was said of what stood there before.
    if (error !== null) deciding.reset();
  };
  const deny = () => {
    deciding.reset();
    setIsDenying(true);
  };
  return (
    <div ref={place} className={css.body}>
      <AskedArguments
        approval={approval} drawing={drawing} edited={edited} onEdit={edit} onBroken={setIsBroken} mayEdit={mayDecide} errors={violations} idPrefix={idPrefix} level={level}
      />
      {mayDecide ? (
        <div role="group" aria-label={t.decide} className={css.decide}>
          {approval.notice !== null && <WarningNote>{approval.notice}</WarningNote>}
          {isChanged && <WarningNote>{t.changed}</WarningNote>}
          <TextField label={t.note} description={t.noteHint} value={note} onChange={setNote} rows={2} />
          {/* What is wrong with a field stands there. */}
          {error !== null && violations.length === 0 && !isDenying && <ErrorNote>{wordsOf(error)}</ErrorNote>}
          <Button look="primary" icon={<Check aria-hidden />} isPending={isPending} isDisabled={isBroken} onPress={approve}>
            {edited === undefined ? t.approve : t.approveEdited}
          </Button>
          <Button look="danger" icon={<X aria-hidden />} isDisabled={isPending} onPress={deny}>{t.deny}</Button>
        </div>
      ) : <div className={css.decide}><Hint>{t.onlyEditors}</Hint></div>}
      <DenyDialog
        toolName={approval.toolName ?? '—'} note={note} isOpen={isDenying} isPending={isPending} error={error}
        onClose={() => setIsDenying(false)} onDeny={(why) => deciding.mutate({ decision: 'deny', version: approval.version, ...said(why) })}
      />
    </div>
  );
}
