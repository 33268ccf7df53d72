// Creates a link that gives read access to one file for an hour.
import { useQuery } from '@tanstack/react-query';

import { api, ask, type Schemas } from '@/api/client';
import { Button } from '@/components/Button';
import { CodeBlock } from '@/components/Code';
import { Dialog, DialogFooter } from '@/components/Dialog';
import { WarningNote } from '@/components/Note';
import { LoadFailed, Loading } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import { COMMON } from '../texts';

const TEXTS = texts(
  { title: (name: string) => `Link to ${name}`, about: (until: string) => `The holder of this link can read the file, without signing in, until ${until}.`, link: 'Link' },
  { title: (name: string) => `${name} 的链接`, about: (until: string) => `在 ${until} 之前，任何持有此链接的人无需登录即可读取该文件。`, link: '链接' },
);

export function LinkDialog({ file, onClose }: { file: Schemas['Artifact']; onClose: () => void }) {
  const t = useTexts(TEXTS);
  const common = useTexts(COMMON);
  const format = useFormat();
  const link = useQuery({
    queryKey: ['artifacts', file.id, 'link'],
    queryFn: () => ask(api.POST('/api/artifacts/{id}/link', { params: { path: { id: file.id } } })),
    // Each opening creates a new link with a new hour.
    gcTime: 0,
    staleTime: Infinity,
  });
  return (
    <Dialog title={t.title(file.name)} isOpen onClose={onClose}>
      {link.isPending && <Loading />}
      {link.isError && <LoadFailed error={link.error} again={() => void link.refetch()} />}
      {link.data !== undefined && (
        <>
          <CodeBlock text={link.data.url} label={t.link} />
          <WarningNote>{t.about(format.time(link.data.expiresAt))}</WarningNote>
        </>
      )}
      <DialogFooter><Button look="primary" onPress={onClose}>{common.done}</Button></DialogFooter>
    </Dialog>
  );
}
