// Asks for confirmation before the user leaves a page with unsaved changes.
import { useBlocker } from '@tanstack/react-router';

import { texts, useTexts } from '@/i18n/language';

import { Confirm } from './Dialog';

const TEXTS = texts(
  { title: 'Leave without saving?', text: 'Your unsaved changes would be lost.', leave: 'Leave' },
  { title: '不保存就离开？', text: '你在此处的更改尚未保存，离开后将丢失。', leave: '离开' },
);

export interface LeaveGuardProps {
  isChanged: boolean;
  /** The title of the question, if something other than changes would be lost. */
  title?: string;
  text?: string;
}

export function LeaveGuard({ isChanged, title, text }: LeaveGuardProps) {
  const t = useTexts(TEXTS);
  const blocker = useBlocker({ shouldBlockFn: () => isChanged, enableBeforeUnload: () => isChanged, withResolver: true });
  return (
    <Confirm
      title={title ?? t.title} verb={t.leave} isOpen={blocker.status === 'blocked'} onClose={() => blocker.reset?.()}
      onConfirm={() => Promise.resolve(blocker.proceed?.())}
    >
      {text ?? t.text}
    </Confirm>
  );
}
