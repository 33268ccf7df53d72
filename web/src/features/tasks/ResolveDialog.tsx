// Says what became of a task of which nobody knows it.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ask, type Schemas, wordsOf } from '@/api/client';
import { Button } from '@/components/Button';
import { CodeEditor } from '@/components/Code';
import { Dialog, DialogFooter } from '@/components/Dialog';
import { ErrorNote } from '@/components/Note';
import { Segmented } from '@/components/Segmented';
import { useWords, words } from '@/i18n/language';

import css from './TaskPanel.module.css';
import type { Task } from './tasks';

const WORDS = words(
  {
    title: 'What became of it?', outcome: 'Outcome', succeeded: 'It took effect', failed: 'It did not', answer: 'What the tool would have answered, as JSON (optional)',
    found: 'What was found out, as JSON (optional)', notJson: 'This is not JSON yet.', save: 'Resolve', cancel: 'Cancel',
  },
  {
    title: '结果如何？', outcome: '结果', succeeded: '已生效', failed: '未生效', answer: '工具本应返回的内容，JSON（可选）',
    found: '核实到的情况，JSON（可选）', notJson: '还不是有效的 JSON。', save: '确认结果', cancel: '取消',
  },
);

type Outcome = Schemas['ResolveTask']['status'];

interface Props {
  task: Task;
  isOpen: boolean;
  onClose: () => void;
  onResolved: (task: Task) => void;
}

export function ResolveDialog({ isOpen, ...rest }: Props) {
  const t = useWords(WORDS);
  return (
    <Dialog title={t.title} isOpen={isOpen} onClose={rest.onClose} isDismissable={false}>
      <Form {...rest} />
    </Dialog>
  );
}

function Form({ task, onClose, onResolved }: Omit<Props, 'isOpen'>) {
  const t = useWords(WORDS);
  const [status, setStatus] = useState<Outcome>('succeeded');
  const [text, setText] = useState('');
  const data = parsed(text);
  const resolve = useMutation({
    mutationFn: () => ask(api.POST('/api/tasks/{id}/resolve', { params: { path: { id: task.id } }, body: { status, ...data } })),
    onSuccess: (now) => {
      onResolved(now);
      onClose();
    },
  });
  const label = status === 'succeeded' ? t.answer : t.found;
  return (
    <>
      <div>
        <Segmented
          label={t.outcome} value={status} onChange={setStatus}
          options={(['succeeded', 'failed'] as const).map((value) => ({ value, label: t[value] }))}
        />
      </div>
      <div className={css.part}>
        <span className="small">{label}</span>
        <CodeEditor label={label} value={text} onChange={setText} minHeight={120} isInvalid={data === undefined} />
        {data === undefined && <ErrorNote>{t.notJson}</ErrorNote>}
      </div>
      {resolve.error !== null && <ErrorNote>{wordsOf(resolve.error)}</ErrorNote>}
      <DialogFooter>
        <Button onPress={onClose}>{t.cancel}</Button>
        <Button look="primary" isPending={resolve.isPending} isDisabled={data === undefined} onPress={() => resolve.mutate()}>{t.save}</Button>
      </DialogFooter>
    </>
  );
}

/** Nothing is no data; undefined is what cannot be sent. */
function parsed(text: string): { data?: unknown } | undefined {
  if (text.trim() === '') return {};
  try {
    return { data: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
