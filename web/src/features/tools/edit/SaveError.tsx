// The error of a failed save that no field shows: a conflict with a newer version, or the server's message.
import { type ReactNode, useEffect, useRef } from 'react';

import { type Violation, errorText } from '@/api/client';
import { Button } from '@/components/Button';
import { ErrorNote, WarningNote } from '@/components/Note';
import { useTexts, texts } from '@/i18n/language';

import css from './Editor.module.css';
import { isStale } from './useDraft';

const TEXTS = texts(
  {
    stale: 'Another user has changed this tool.', load: 'Load their version', compare: 'Compare and keep mine',
    some: 'Correct the marked fields, then save again.', at: (path: string, message: string) => `${path}: ${message}`,
  },
  {
    stale: '其他人刚刚修改了这个工具。', load: '加载对方的版本', compare: '比较并保留我的修改',
    some: '有内容需要修改后才能保存。', at: (path: string, message: string) => `${path}：${message}`,
  },
);

export interface SaveErrorProps {
  error: unknown;
  /** Violations without a field. */
  unassigned: readonly Violation[];
  /** Fields show violations. */
  hasFieldErrors: boolean;
  isOutdated: boolean;
  reload: (() => void) | undefined;
  /** Opens the comparison with the newer version. */
  compare: () => void;
}

export function SaveError(props: SaveErrorProps) {
  const content = useContent(props);
  const container = useRef<HTMLDivElement>(null);
  const { error } = props;
  // The save button is at the end of a long form, so the error may be out of view.
  useEffect(() => {
    if (error !== null) container.current?.scrollIntoView({ block: 'nearest' });
  }, [error]);
  return content === null ? null : <div ref={container} className={css.refusal}>{content}</div>;
}

function useContent({ error, unassigned, hasFieldErrors, isOutdated, reload, compare }: SaveErrorProps): ReactNode {
  const t = useTexts(TEXTS);
  if (reload !== undefined && (isOutdated || isStale(error))) {
    return (
      <WarningNote>
        <div className={css.choice} role="status">
          <span>{t.stale}</span>
          <Button small onPress={compare}>{t.compare}</Button>
          <Button small onPress={reload}>{t.load}</Button>
        </div>
      </WarningNote>
    );
  }
  if (unassigned.length > 0) return <ErrorNote>{unassigned.map(({ path, message }) => <div key={path}>{t.at(path, message)}</div>)}</ErrorNote>;
  if (error === null) return null;
  return <ErrorNote>{hasFieldErrors ? t.some : errorText(error)}</ErrorNote>;
}
