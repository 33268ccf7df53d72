// The result of a background call that ended after its turn, shown before the agent's response to it.
import { ChevronRight, CircleX, PackageCheck } from 'lucide-react';
import { Button, Disclosure, DisclosurePanel } from 'react-aria-components';

import { useFormat } from '@/i18n/format';
import { useKinds } from '@/i18n/kinds';
import { texts, useTexts } from '@/i18n/language';

import css from './CallCard.module.css';
import { CallDetails } from './CallDetails';
import type { TaskInput } from './wire';

const TEXTS = texts(
  { came: 'Result received', failed: 'It failed' },
  { came: '结果已返回', failed: '执行失败' },
);

export function TaskEntry({ task: { name, callId, taskId, result } }: { task: TaskInput }) {
  const t = useTexts(TEXTS);
  const kinds = useKinds();
  const format = useFormat();
  return (
    <Disclosure className={`${css.card} ${css.later}`}>
      <Button slot="trigger" className={css.line ?? ''}>
        {result.success ? <PackageCheck size={16} aria-hidden className={css.good} /> : <CircleX size={16} aria-hidden className={css.bad} />}
        <code className={css.name}>{name ?? result.toolName}</code>
        <span className={css.summary}>{result.success ? t.came : t.failed}</span>
        {result.success
          ? <span className={css.outcome}>{format.duration(result.executionTime)}</span>
          : <span className={`${css.outcome} ${css.bad}`}>{kinds[result.error.kind]}</span>}
        <ChevronRight size={15} aria-hidden className={css.arrow} />
      </Button>
      <DisclosurePanel className={css.panel ?? ''}><CallDetails call={{ callId, taskId }} result={result} /></DisclosurePanel>
    </Disclosure>
  );
}
