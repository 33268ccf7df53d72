// What was typed or picked and not saved is not lost without a question.
import { useBlocker } from '@tanstack/react-router';

import { useWords, words } from '@/i18n/language';

import { Confirm } from './Dialog';

const WORDS = words(
  { title: 'Leave without saving?', text: 'What you changed here is not saved yet and would be lost.', leave: 'Leave' },
  { title: '不保存就离开？', text: '你在此处的更改尚未保存，离开后将丢失。', leave: '离开' },
);

export interface LeaveGuardProps {
  isChanged: boolean;
  /** What would be lost, where that is not a change. */
  title?: string;
  text?: string;
}

export function LeaveGuard({ isChanged, title, text }: LeaveGuardProps) {
  const t = useWords(WORDS);
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
