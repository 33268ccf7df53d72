// Another password for oneself, or the first one.
import { useState } from 'react';

import { PasswordForm } from '@/components/password/PasswordForm';
import { useWords, words } from '@/i18n/language';

import { GoodNote } from '../parts/GoodNote';
import css from './AccountSection.module.css';

const WORDS = words({ changed: 'Your password was changed.' }, { changed: '密码已修改。' });

export function OwnPassword() {
  const t = useWords(WORDS);
  const [isDone, setIsDone] = useState(false);
  return (
    <div className={css.password}>
      {isDone && <GoodNote>{t.changed}</GoodNote>}
      <PasswordForm onDone={() => setIsDone(true)} />
    </div>
  );
}
