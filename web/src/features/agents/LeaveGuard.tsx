// Asks before changes are left behind.
import { useBlocker } from '@tanstack/react-router';

import { Confirm } from '@/components/Dialog';
import { useWords, words } from '@/i18n/language';

const WORDS = words(
  { title: 'Leave without saving?', text: 'What you changed here is not saved yet and would be lost.', leave: 'Leave' },
  { title: '不保存就离开？', text: '你在此处的更改尚未保存，离开后将丢失。', leave: '离开' },
);

export function LeaveGuard({ isOn }: { isOn: boolean }) {
  const t = useWords(WORDS);
  const blocker = useBlocker({ shouldBlockFn: () => isOn, enableBeforeUnload: () => isOn, withResolver: true });
  return (
    <Confirm
      title={t.title} verb={t.leave} isOpen={blocker.status === 'blocked'} onClose={() => blocker.reset?.()}
      onConfirm={() => Promise.resolve(blocker.proceed?.())}
    >
      {t.text}
    </Confirm>
  );
}
