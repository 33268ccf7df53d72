// Denies a call with an optional reason, which the caller receives.
import { useState } from 'react';

import { errorText } from '@/api/client';
import { Button } from '@/components/Button';
import { Dialog, DialogFooter } from '@/components/Dialog';
import { TextField } from '@/components/Field';
import { ErrorNote } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

const TEXTS = texts(
  {
    title: (tool: string) => `Deny ${tool}?`, note: 'Reason (optional)', hint: 'The caller receives it with the error.', deny: 'Deny the call', cancel: 'Cancel',
  },
  { title: (tool: string) => `拒绝 ${tool}？`, note: '原因（可选）', hint: '发起者会在结果中看到。', deny: '拒绝调用', cancel: '取消' },
);

interface Props {
  toolName: string;
  /** The note entered before. */
  note: string;
  isOpen: boolean;
  isPending: boolean;
  error: Error | null;
  onClose: () => void;
  onDeny: (note: string) => void;
}

export function DenyDialog({ toolName, isOpen, onClose, ...rest }: Props) {
  const t = useTexts(TEXTS);
  return (
    <Dialog title={t.title(toolName)} isOpen={isOpen} onClose={onClose}>
      <Why {...rest} onClose={onClose} />
    </Dialog>
  );
}

function Why({ note, isPending, error, onClose, onDeny }: Omit<Props, 'toolName' | 'isOpen'>) {
  const t = useTexts(TEXTS);
  const [why, setWhy] = useState(note);
  return (
    <>
      <TextField label={t.note} description={t.hint} value={why} onChange={setWhy} rows={3} autoFocus />
      {error !== null && <ErrorNote>{errorText(error)}</ErrorNote>}
      <DialogFooter>
        <Button onPress={onClose}>{t.cancel}</Button>
        <Button look="danger" isPending={isPending} onPress={() => onDeny(why)}>{t.deny}</Button>
      </DialogFooter>
    </>
  );
}
