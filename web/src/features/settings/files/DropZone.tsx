// A drop target for files; keyboard users have a button.
import { type DragEvent, type ReactNode, useState } from 'react';

import css from './files.module.css';

export function DropZone({ onFiles, children }: { onFiles: (files: readonly File[]) => void; children: ReactNode }) {
  const [isOver, setIsOver] = useState(false);
  const over = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(true);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    onFiles(Array.from(event.dataTransfer.files));
  };
  return <div className={css.zone} data-over={isOver} onDragOver={over} onDragLeave={() => setIsOver(false)} onDrop={drop}>{children}</div>;
}
