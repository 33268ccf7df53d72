// A newer version was saved while this one was edited: both against each other, and which of them is to stay.
import { lazy, Suspense } from 'react';

import { wordsOf } from '@/api/client';
import { Button } from '@/components/Button';
import { pretty } from '@/components/Code';
import { Dialog, DialogFooter } from '@/components/Dialog';
import { ErrorNote } from '@/components/Note';
import { Loading } from '@/components/Page';
import { useIsNarrow } from '@/components/useIsNarrow';
import { useWords, words } from '@/i18n/language';

import { isEqual } from './mergeChanges';

const MergeView = lazy(() => import('@/components/MergeView'));

const WORDS = words(
  {
    title: 'Changed while you were editing', about: (version: number) => (
      `Version ${version} was saved while you were editing. It is compared with what keeping yours would save: your changes on top of it. Where both changed the same field, yours wins.`
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
  /** The number of the version that was saved; undefined while it is read. */
  version: number | undefined;
  theirs: unknown;
  /** What keeping mine would save. */
  merged: unknown;
  isPending: boolean;
  error: unknown;
  onKeep: () => void;
  onLoad: () => void;
}

export function ConflictDialog({ isOpen, onClose, version, theirs, merged, isPending, error, onKeep, onLoad }: ConflictDialogProps) {
  const t = useWords(WORDS);
  const isNarrow = useIsNarrow();
  return (
    <Dialog title={t.title} isOpen={isOpen} onClose={onClose} wide isDismissable={false}>
      {version === undefined ? <Loading /> : isEqual(theirs, merged) ? <p>{t.same(version)}</p> : (
        <>
          <p>{t.about(version)}</p>
          <Suspense fallback={<Loading />}>
            <MergeView label={t.showing(version)} before={pretty(theirs)} after={pretty(merged)} isNarrow={isNarrow} isFolded unchanged={t.unchanged} />
          </Suspense>
        </>
      )}
      {error !== null && error !== undefined && <ErrorNote>{wordsOf(error)}</ErrorNote>}
      <DialogFooter>
        <Button onPress={onClose}>{t.cancel}</Button>
        <Button onPress={onLoad} isDisabled={isPending}>{t.load}</Button>
        <Button look="primary" isPending={isPending} isDisabled={version === undefined} onPress={onKeep}>{t.keep}</Button>
      </DialogFooter>
    </Dialog>
  );
}
