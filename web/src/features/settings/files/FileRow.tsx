// One artifact and its actions.
import { useMutation } from '@tanstack/react-query';
import { Download, FileText, Link2, Trash2 } from 'lucide-react';

import { errorText, type Schemas } from '@/api/client';
import { IconButton } from '@/components/Button';
import { CopyButton } from '@/components/CopyButton';
import { ErrorNote } from '@/components/Note';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import { Facts, Row, When } from '../parts/List';
import { COMMON } from '../texts';
import { download } from './download';

const TEXTS = texts(
  {
    copy: (name: string) => `Copy the artifact:// name of ${name}`, save: (name: string) => `Download ${name}`,
    link: (name: string) => `Create a link to ${name}`,
  },
  { copy: (name: string) => `复制 ${name} 的 artifact:// 引用`, save: (name: string) => `下载 ${name}`, link: (name: string) => `为 ${name} 创建链接` },
);

export interface FileRowProps {
  file: Schemas['Artifact'];
  may: boolean;
  link: () => void;
  remove: () => void;
}

export function FileRow({ file, may, link, remove }: FileRowProps) {
  const t = useTexts(TEXTS);
  const common = useTexts(COMMON);
  const format = useFormat();
  const save = useMutation({ mutationFn: () => download(file) });
  return (
    <Row
      icon={<FileText />} title={file.name}
      about={<Facts><span>{format.bytes(file.size)}</span><span>{file.type}</span><When at={file.createdAt} /></Facts>}
      actions={(
        <>
          <CopyButton text={`artifact://${file.id}`} label={t.copy(file.name)} iconOnly />
          <IconButton label={t.save(file.name)} isPending={save.isPending} onPress={() => save.mutate()}><Download aria-hidden /></IconButton>
          {may && <IconButton label={t.link(file.name)} onPress={link}><Link2 aria-hidden /></IconButton>}
          {may && <IconButton label={common.removeOne(file.name)} onPress={remove}><Trash2 aria-hidden /></IconButton>}
        </>
      )}
      below={save.error !== null && <ErrorNote>{errorText(save.error)}</ErrorNote>}
    />
  );
}
