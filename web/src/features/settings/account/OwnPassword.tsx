// Sets or changes the user's password.
import { useState } from 'react';

import { PasswordForm } from '@/components/password/PasswordForm';
import { texts, useTexts } from '@/i18n/language';

import { GoodNote } from '../parts/GoodNote';
import css from './AccountSection.module.css';

const TEXTS = texts({ changed: 'Your password was changed.' }, { changed: '密码已修改。' });

export function OwnPassword() {
  const t = useTexts(TEXTS);
  const [isDone, setIsDone] = useState(false);
  return (
    <div className={css.password}>
      {isDone && <GoodNote>{t.changed}</GoodNote>}
      <PasswordForm onDone={() => setIsDone(true)} />
    </div>
  );
}
