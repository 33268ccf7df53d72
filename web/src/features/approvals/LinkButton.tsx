// Creates an approval link, and shows it with a warning.
import { useMutation } from '@tanstack/react-query';
import { Link2 } from 'lucide-react';

import type { Approval } from '@/api/approvals';
import { api, ask, errorText } from '@/api/client';
import { Button } from '@/components/Button';
import { CodeBlock } from '@/components/Code';
import { CopyButton } from '@/components/CopyButton';
import { Dialog, DialogFooter } from '@/components/Dialog';
import { ErrorNote, WarningNote } from '@/components/Note';
import { Loading } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

const TEXTS = texts(
  {
    open: 'Copy link', title: (tool: string) => `Link to decide on ${tool}`, link: 'Link', copy: 'Copy the link', done: 'Done',
    about: (until: string) => `The holder of this link can approve or deny the call in your name, without signing in, until ${until} or until it is decided. Send it only to the person who decides.`,
  },
  {
    open: '复制链接', title: (tool: string) => `${tool} 的审批链接`, link: '链接', copy: '复制链接', done: '完成',
    about: (until: string) => `在 ${until} 之前或有人作出决定之前，任何持有此链接的人无需登录即可以你的名义批准或拒绝该调用。请只发给应当作决定的人。`,
  },
);

export function LinkButton({ approval }: { approval: Approval }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const creation = useMutation({ mutationFn: () => ask(api.POST('/api/approvals/{id}/link', { params: { path: { id: approval.id } } })) });
  const { data, error } = creation;
  return (
    <>
      <Button small look="quiet" icon={<Link2 aria-hidden />} onPress={() => creation.mutate()}>{t.open}</Button>
      <Dialog title={t.title(approval.toolName ?? '—')} isOpen={!creation.isIdle} onClose={creation.reset}>
        {creation.isPending && <Loading />}
        {error !== null && <ErrorNote>{errorText(error)}</ErrorNote>}
        {data !== undefined && (
          <>
            <WarningNote>{t.about(format.time(data.expiresAt))}</WarningNote>
            <CodeBlock text={data.url} label={t.link} />
          </>
        )}
        <DialogFooter>
          <Button onPress={creation.reset}>{t.done}</Button>
          {data !== undefined && <CopyButton text={data.url} label={t.copy} look="primary" small={false} />}
        </DialogFooter>
      </Dialog>
    </>
  );
}
