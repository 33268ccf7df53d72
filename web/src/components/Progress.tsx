// The progress of a task, if the task reports any.
import { ProgressBar } from 'react-aria-components';

import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import css from './Progress.module.css';

const TEXTS = texts({ progress: 'Progress' }, { progress: '进度' });

export function Progress({ fraction }: { fraction: number }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  return (
    <ProgressBar aria-label={t.progress} value={fraction * 100} className={css.progress ?? ''}>
      <span className={css.bar} aria-hidden><span style={{ width: `${fraction * 100}%` }} /></span>
      <span className={css.number}>{format.percent(Math.round(fraction * 100) / 100)}</span>
    </ProgressBar>
  );
}
