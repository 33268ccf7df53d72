// Running and failed uploads.
import { X } from 'lucide-react';
import { Label, ProgressBar } from 'react-aria-components';

import { IconButton } from '@/components/Button';
import { ErrorNote } from '@/components/Note';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import css from './files.module.css';
import type { Uploads } from './useUploads';

const TEXTS = texts(
  { dismiss: (name: string) => `Dismiss ${name}`, failed: (name: string, why: string) => `${name} was not uploaded: ${why}`, lost: 'the connection was lost' },
  { dismiss: (name: string) => `忽略 ${name}`, failed: (name: string, why: string) => `${name} 上传失败：${why}`, lost: '连接中断' },
);

export function UploadRows({ uploads }: { uploads: Uploads }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  if (uploads.all.length === 0) return null;
  return (
    <ul className={css.uploads}>
      {uploads.all.map(({ id, name, fraction, error }) => (
        <li key={id}>
          {error === undefined ? (
            <ProgressBar value={fraction * 100} valueLabel={format.percent(fraction)} className={css.progress ?? ''}>
              <Label className={css.progressName ?? ''}>{name}</Label>
              <span className="quiet small">{format.percent(fraction)}</span>
              <span className={css.track}><span className={css.bar} style={{ width: `${fraction * 100}%` }} /></span>
            </ProgressBar>
          ) : (
            <div className={css.failed}>
              <ErrorNote>{t.failed(name, error === '' ? t.lost : error)}</ErrorNote>
              <IconButton label={t.dismiss(name)} onPress={() => uploads.dismiss(id)}><X aria-hidden /></IconButton>
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}
