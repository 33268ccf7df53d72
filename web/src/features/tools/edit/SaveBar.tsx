// The bar at the end of the form: unsaved changes and the save button.
import { Check } from 'lucide-react';
import type { ReactNode } from 'react';

import { Button } from '@/components/Button';
import { useTexts, texts } from '@/i18n/language';

import css from './Editor.module.css';

const TEXTS = texts(
  { save: 'Save', create: 'Create tool', discard: 'Discard changes', unsaved: 'Not saved yet', saved: 'All changes saved' },
  { save: '保存', create: '创建工具', discard: '放弃修改', unsaved: '尚未保存', saved: '已全部保存' },
);

export interface SaveBarProps {
  isNew: boolean;
  isChanged: boolean;
  isPending: boolean;
  discard: () => void;
  /** Controls at the left end. */
  children?: ReactNode;
}

export function SaveBar({ isNew, isChanged, isPending, discard, children }: SaveBarProps) {
  const t = useTexts(TEXTS);
  return (
    <div className={css.bar}>
      {children}
      <div className={css.end}>
        {!isNew && <span className={`${css.state} quiet small`} role="status">{isChanged ? t.unsaved : t.saved}</span>}
        {!isNew && isChanged && <Button onPress={discard}>{t.discard}</Button>}
        <Button type="submit" look="primary" icon={<Check aria-hidden />} isPending={isPending} isDisabled={!isNew && !isChanged}>{isNew ? t.create : t.save}</Button>
      </div>
    </div>
  );
}
