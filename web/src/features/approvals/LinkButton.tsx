// Makes a link by which anyone can decide on a call, and hands it over with a word of warning.
import { useMutation } from '@tanstack/react-query';
import { Link2 } from 'lucide-react';

import type { Approval } from '@/api/approvals';
import { api, ask, wordsOf } from '@/api/client';
import { Button } from '@/components/Button';
import { CodeBlock } from '@/components/Code';
import { CopyButton } from '@/components/CopyButton';
import { Dialog, DialogFooter } from '@/components/Dialog';
import { ErrorNote, WarningNote } from '@/components/Note';
import { Loading } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { useWords, words } from '@/i18n/language';

const WORDS = words(
  {
    open: 'Copy link', title: (tool: string) => `Link to decide on ${tool}`, link: 'Link', copy: 'Copy the link', done: 'Done',
    about: (until: string) => `Whoever holds this link can approve or deny the call in your name, without signing in, until ${until} or until somebody has decided. Send it only to who shall decide.`,
  },
  {
    open: '复制链接', title: (tool: string) => `${tool} 的审批链接`, link: '链接', copy: '复制链接', done: '完成',
    about: (until: string) => `在 ${until} 之前或有人作出决定之前，任何持有此链接的人无需登录即可以你的名义批准或拒绝该调用。请只发给应当作决定的人。`,
  },
);

export function LinkButton({ approval }: { approval: Approval }) {
  const t = useWords(WORDS);
  const format = useFormat();
  const making = useMutation({ mutationFn: () => ask(api.POST('/api/approvals/{id}/link', { params: { path: { id: approval.id } } })) });
  const { data, error } = making;
  return (
    <>
      <Button small look="quiet" icon={<Link2 aria-hidden />} onPress={() => making.mutate()}>{t.open}</Button>
      <Dialog title={t.title(approval.toolName ?? '—')} isOpen={!making.isIdle} onClose={making.reset}>
        {making.isPending && <Loading />}
        {error !== null && <ErrorNote>{wordsOf(error)}</ErrorNote>}
        {data !== undefined && (
          <>
            <WarningNote>{t.about(format.time(data.expiresAt))}</WarningNote>
            <CodeBlock text={data.url} label={t.link} />
          </>
        )}
        <DialogFooter>
          <Button onPress={making.reset}>{t.done}</Button>
          {data !== undefined && <CopyButton text={data.url} label={t.copy} look="primary" small={false} />}
        </DialogFooter>
      </Dialog>
    </>
  );
}
