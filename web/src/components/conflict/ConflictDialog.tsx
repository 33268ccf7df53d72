// A save conflict: shows the difference between both versions, and asks which one to save.
import { lazy, Suspense } from 'react';

import { errorText } from '@/api/client';
import { Button } from '@/components/Button';
import { pretty } from '@/components/Code';
import { Dialog, DialogFooter } from '@/components/Dialog';
import { ErrorNote } from '@/components/Note';
import { Loading } from '@/components/Page';
import { useIsNarrow } from '@/components/useIsNarrow';
import { texts, useTexts } from '@/i18n/language';

import { isEqual } from './mergeChanges';

const MergeView = lazy(() => import('@/components/MergeView'));

const TEXTS = texts(
  {
    title: 'Changed while you were editing', about: (version: number) => (
      `Version ${version} was saved while you were editing. It is compared with the result of keeping yours: your changes applied to it. If both changed the same field, yours wins.`
    ),
    same: (version: number) => `Version ${version}, which was saved while you were editing, has the same changes as yours.`,
    showing: (version: number) => `Version ${version} compared with your changes`, unchanged: '$ unchanged lines', cancel: 'Back to editing', load: 'Load theirs', keep: 'Keep mine',
  },
  {
    title: '编辑期间有新的修改', about: (version: number) => (
      `你编辑期间已保存了版本 ${version}。下面将它与保留你的修改后的结果对比：在该版本之上应用你的修改；双方都改过的字段以你的为准。`
    ),
    same: (version: number) => `你编辑期间保存的版本 ${version} 与你的修改相同。`,
    showing: (version: number) => `版本 ${version} 与你的修改对比`, unchanged: '$ 行未变', cancel: '继续编辑', load: '加载对方的版本', keep: '保留我的',
  },
);

export interface ConflictDialogProps {
  isOpen: boolean;
  onClose: () => void;
  /** The number of the saved version; `undefined` while it is loaded. */
  version: number | undefined;
  theirs: unknown;
  /** The value that "keep mine" would save. */
  merged: unknown;
  isPending: boolean;
  error: unknown;
  onKeep: () => void;
  onLoad: () => void;
}

export function ConflictDialog({ isOpen, onClose, version, theirs, merged, isPending, error, onKeep, onLoad }: ConflictDialogProps) {
  const t = useTexts(TEXTS);
  const isNarrow = useIsNarrow();
  return (
    <Dialog title={t.title} isOpen={isOpen} onClose={onClose} wide isDismissable={false}>
      {/* The buttons appear together with the comparison, so that loading it does not move them under the pointer. */}
      <Suspense fallback={<Loading />}>
        {version === undefined ? <Loading /> : isEqual(theirs, merged) ? <p>{t.same(version)}</p> : (
          <>
            <p>{t.about(version)}</p>
            <MergeView label={t.showing(version)} before={pretty(theirs)} after={pretty(merged)} isNarrow={isNarrow} isFolded unchanged={t.unchanged} />
          </>
        )}
        {error !== null && error !== undefined && <ErrorNote>{errorText(error)}</ErrorNote>}
        <DialogFooter>
          <Button onPress={onClose}>{t.cancel}</Button>
          <Button onPress={onLoad} isDisabled={isPending}>{t.load}</Button>
          <Button look="primary" isPending={isPending} isDisabled={version === undefined} onPress={onKeep}>{t.keep}</Button>
        </DialogFooter>
      </Suspense>
    </Dialog>
  );
}
