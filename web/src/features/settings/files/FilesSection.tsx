// The user's artifacts, which calls can read.
import { useQueryClient } from '@tanstack/react-query';
import { Files, Upload } from 'lucide-react';
import { useState } from 'react';
import { FileTrigger } from 'react-aria-components';

import { api, ask, type Schemas } from '@/api/client';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { Confirm } from '@/components/Dialog';
import { Empty, Hint } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import { List } from '../parts/List';
import { itemsOf, usePages } from '../parts/pages';
import { Section } from '../parts/Section';
import { SECTION_TEXTS } from '../sections';
import { COMMON } from '../texts';
import { DropZone } from './DropZone';
import { FileRow } from './FileRow';
import { LinkDialog } from './LinkDialog';
import { UploadRows } from './UploadRows';
import { useUploads } from './useUploads';

type Artifact = Schemas['Artifact'];

const TEXTS = texts(
  {
    about: 'Your files in this space, visible to you only. Your calls read them as artifact://ID.', upload: 'Upload',
    drop: 'Drop files here, or press Upload. Up to 32 MB each.', emptyTitle: 'No files yet',
    empty: 'Upload a file to pass it to a tool, for example one that sends it to an API.', mayNot: 'Viewers cannot call tools, so they have no files.',
    deleteTitle: (name: string) => `Delete ${name}?`, deleteText: 'Links to it stop working, and calls that use it fail. This cannot be undone.',
  },
  {
    about: '你在此空间的文件，其他人不可见。你发起的调用可用 artifact://ID 读取。', upload: '上传',
    drop: '将文件拖到此处，或点击“上传”。单个文件最大 32 MB。', emptyTitle: '还没有文件',
    empty: '上传文件后即可交给工具使用，例如由工具转发给某个 API。', mayNot: '查看者不能调用工具，因此不保存文件。',
    deleteTitle: (name: string) => `删除 ${name}？`, deleteText: '指向它的链接将失效，引用它的调用会失败。此操作无法撤销。',
  },
);

export default function FilesSection() {
  const t = useTexts(TEXTS);
  const names = useTexts(SECTION_TEXTS);
  const common = useTexts(COMMON);
  const queries = useQueryClient();
  const may = useMay('caller');
  const uploads = useUploads();
  const [deleted, setDeleted] = useState<Artifact | null>(null);
  const [linked, setLinked] = useState<Artifact | null>(null);
  const files = usePages(['artifacts'], (cursor) => ask(api.GET('/api/artifacts', { params: { query: { limit: 50, cursor } } })));
  // Without files the drop target is the whole section.
  const isEmpty = files.isSuccess && itemsOf(files).length === 0;
  const remove = async (id: string) => {
    await ask(api.DELETE('/api/artifacts/{id}', { params: { path: { id } } }));
    await queries.invalidateQueries({ queryKey: ['artifacts'] });
  };
  const pick = may && (
    <FileTrigger allowsMultiple onSelect={(chosen) => uploads.add(Array.from(chosen ?? []))}>
      <Button look="primary" icon={<Upload aria-hidden />}>{t.upload}</Button>
    </FileTrigger>
  );
  return (
    <Section title={names.files} about={t.about} actions={pick}>
      {!may && <Hint>{t.mayNot}</Hint>}
      {may && <DropZone onFiles={uploads.add}>{isEmpty ? <Empty icon={<Files />} title={t.emptyTitle}><p>{t.empty}</p><p>{t.drop}</p></Empty> : t.drop}</DropZone>}
      <UploadRows uploads={uploads} />
      {!(may && isEmpty) && (
        <List label={names.files} pages={files} empty={<Empty icon={<Files />} title={t.emptyTitle}>{may && t.empty}</Empty>}>
          {(file) => <FileRow key={file.id} file={file} may={may} link={() => setLinked(file)} remove={() => setDeleted(file)} />}
        </List>
      )}
      {linked !== null && <LinkDialog file={linked} onClose={() => setLinked(null)} />}
      <Confirm
        title={t.deleteTitle(deleted?.name ?? '')} verb={common.remove} isOpen={deleted !== null}
        onClose={() => setDeleted(null)} onConfirm={() => remove(deleted?.id ?? '')}
      >
        {t.deleteText}
      </Confirm>
    </Section>
  );
}
