// A drop zone for one file, with a file chooser.
import { FileText, Upload, X } from 'lucide-react';
import { Button as AriaButton, DropZone, FileTrigger } from 'react-aria-components';

import { IconButton } from '@/components/Button';
import { useFormat } from '@/i18n/format';
import { useTexts } from '@/i18n/language';

import css from './SourceStep.module.css';
import { TEXTS } from './texts';

export interface FileText {
  name: string;
  size: number;
  text: string;
}

interface Props {
  file: FileText | null;
  onFile: (file: FileText | null) => void;
}

export function FileDrop({ file, onFile }: Props) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const readFile = async (selected: File | undefined) => {
    if (selected !== undefined) onFile({ name: selected.name, size: selected.size, text: await selected.text() });
  };
  if (file !== null) {
    return (
      <div className={css.file}>
        <FileText size={18} aria-hidden />
        <span className={css.fileName}>{file.name}</span>
        <span className="quiet small">{format.bytes(file.size)}</span>
        <IconButton label={t.remove} onPress={() => onFile(null)}><X aria-hidden /></IconButton>
      </div>
    );
  }
  return (
    <DropZone
      aria-label={t.chooseFile} className={css.drop ?? ''}
      onDrop={({ items }) => {
        const dropped = items.find((item) => item.kind === 'file');
        if (dropped !== undefined) void dropped.getFile().then(readFile);
      }}
    >
      <Upload size={20} aria-hidden />
      <span>{t.drop}</span>
      <FileTrigger acceptedFileTypes={['.json', '.yaml', '.yml', '.har', '.txt', '.sh']} onSelect={(files) => void readFile(files?.[0])}>
        <AriaButton className={css.choose ?? ''}>{t.choose}</AriaButton>
      </FileTrigger>
    </DropZone>
  );
}
