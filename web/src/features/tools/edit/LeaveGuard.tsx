// What was typed and not saved is not lost without a question.
import { useBlocker } from '@tanstack/react-router';

import { Confirm } from '@/components/Dialog';
import { useWords, words } from '@/i18n/language';

const WORDS = words(
  { title: 'Leave without saving?', text: 'What you changed here is not saved yet.', verb: 'Leave and lose it' },
  { title: '不保存就离开？', text: '此处的修改尚未保存。', verb: '放弃并离开' },
);

export function LeaveGuard({ isChanged }: { isChanged: boolean }) {
  const t = useWords(WORDS);
  const blocker = useBlocker({ shouldBlockFn: () => isChanged, enableBeforeUnload: () => isChanged, withResolver: true });
  const leave = () => {
    blocker.proceed?.();
    return Promise.resolve();
  };
  return <Confirm title={t.title} verb={t.verb} isOpen={blocker.status === 'blocked'} onClose={() => blocker.reset?.()} onConfirm={leave}>{t.text}</Confirm>;
}
