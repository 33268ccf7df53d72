// A new token, shown this one time only.
import type { Schemas } from '@/api/client';
import { Button } from '@/components/Button';
import { CodeBlock } from '@/components/Code';
import { CopyButton } from '@/components/CopyButton';
import { DialogFooter } from '@/components/Dialog';
import { WarningNote } from '@/components/Note';
import { texts, useTexts } from '@/i18n/language';

import css from './tokens.module.css';

const TEXTS = texts(
  {
    once: 'Copy it now. It is shown only once; Haft stores only its hash.',
    token: 'Token', copy: 'Copy token', attempt: 'Try it', done: 'I have copied it',
  },
  {
    once: '请立即复制。令牌仅显示这一次，Haft 只保存它的指纹。',
    token: '令牌', copy: '复制令牌', attempt: '试一试', done: '我已复制',
  },
);

export function MadeToken({ token, onDone }: { token: Schemas['CreatedToken']; onDone: () => void }) {
  const t = useTexts(TEXTS);
  const attempt = `curl -s '${location.origin}/api/tools' \\\n  -H 'Authorization: Bearer ${token.token}'`;
  return (
    <>
      <WarningNote>{t.once}</WarningNote>
      <div className={css.made}>
        <code className={css.value} aria-label={t.token}>{token.token}</code>
        <CopyButton text={token.token} label={t.copy} />
      </div>
      <div className={css.field}>
        <h3>{t.attempt}</h3>
        <CodeBlock text={attempt} label={t.attempt} />
      </div>
      <DialogFooter><Button look="primary" onPress={onDone}>{t.done}</Button></DialogFooter>
    </>
  );
}
