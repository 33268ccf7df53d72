// One call that waits: what it would do and with what, and the two answers.
import { useQuery } from '@tanstack/react-query';
import { Check, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';

import type { Approval } from '@/api/approvals';
import { api, ApiError, ask, wordsOf } from '@/api/client';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { TextField } from '@/components/Field';
import { ErrorNote, Hint, WarningNote } from '@/components/Note';
import { focusFirstWrong } from '@/components/schema-form/focus';
import { isSame, type JsonObject } from '@/components/schema-form/schema';
import { useWords, words } from '@/i18n/language';

import css from './ApprovalCard.module.css';
import { ApprovalHead } from './ApprovalHead';
import { AskedArguments } from './AskedArguments';
import { DenyDialog } from './DenyDialog';
import { type Leaving, useDecide } from './useDecide';

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

export const cardId = (id: string) => `approval-${id}`;

export function ApprovalCard({ approval, onLeft }: { approval: Approval; onLeft: (how: Leaving) => void }) {
  const t = useWords(WORDS);
  const mayDecide = useMay('editor');
  const [edited, setEdited] = useState<JsonObject>();
  const [isBroken, setIsBroken] = useState(false);
  const [note, setNote] = useState('');
  const [isDenying, setIsDenying] = useState(false);
  const place = useRef<HTMLElement>(null);
  const decide = useDecide(approval, onLeft);
  const tool = useQuery({
    queryKey: ['tools', 'one', approval.toolId],
    queryFn: () => ask(api.GET('/api/tools/{id}', { params: { path: { id: approval.toolId ?? '' } } })),
    enabled: approval.toolId !== null,
    retry: false,
  });
  const { error } = decide;
  const violations = error instanceof ApiError ? error.violations : [];
  useEffect(() => {
    if (error !== null && place.current !== null) focusFirstWrong(place.current);
  }, [error]);
  const isEdited = edited !== undefined && !isSame(edited, approval.arguments);
  const said = (text: string) => (text.trim() === '' ? {} : { note: text.trim() });
  const approve = () => decide.mutate({ decision: 'approve', ...said(note), ...(isEdited ? { arguments: edited } : {}) });
  const edit = (value: JsonObject | undefined) => {
    setEdited(value);
    if (value === undefined) setIsBroken(false);
    // What was said of what stood there before.
    if (error !== null) decide.reset();
  };
  const deny = () => {
    decide.reset();
    setIsDenying(true);
  };
  const id = cardId(approval.id);
  return (
    <article ref={place} id={id} tabIndex={-1} aria-labelledby={`${id}-name`} className={`${css.card} ${approval.effect === 'write' ? css.writes : ''}`}>
      <ApprovalHead approval={approval} titleId={`${id}-name`} />
      <div className={css.body}>
        <AskedArguments
          approval={approval} tool={tool} edited={edited} onEdit={edit} onBroken={setIsBroken} mayEdit={mayDecide} errors={violations} idPrefix={id}
        />
        {mayDecide ? (
          <section aria-label={t.decide} className={css.decide}>
            {tool.data !== undefined && approval.version !== null && tool.data.version !== approval.version && <WarningNote>{t.changed}</WarningNote>}
            <TextField label={t.note} description={t.noteHint} value={note} onChange={setNote} rows={2} />
            {/* What is wrong with a field stands there. */}
            {error !== null && violations.length === 0 && !isDenying && <ErrorNote>{wordsOf(error)}</ErrorNote>}
            <Button look="primary" icon={<Check aria-hidden />} isPending={decide.isPending} isDisabled={isBroken} onPress={approve}>
              {edited === undefined ? t.approve : t.approveEdited}
            </Button>
            <Button look="danger" icon={<X aria-hidden />} isDisabled={decide.isPending} onPress={deny}>{t.deny}</Button>
          </section>
        ) : <div className={css.decide}><Hint>{t.onlyEditors}</Hint></div>}
      </div>
      <DenyDialog
        toolName={approval.toolName ?? '—'} note={note} isOpen={isDenying} isPending={decide.isPending} error={error}
        onClose={() => setIsDenying(false)} onDeny={(why) => decide.mutate({ decision: 'deny', ...said(why) })}
      />
    </article>
  );
}
