// Records the outcome of a task whose result is unknown.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';

import { api, ask, errorText, type Schemas } from '@/api/client';
import { Button } from '@/components/Button';
import { CodeEditor } from '@/components/Code';
import { Dialog, DialogFooter } from '@/components/Dialog';
import { ErrorNote } from '@/components/Note';
import { Segmented } from '@/components/Segmented';
import { texts, useTexts } from '@/i18n/language';

import css from './TaskPanel.module.css';
import type { Task } from './tasks';

const TEXTS = texts(
  {
    title: 'Record the outcome', outcome: 'Outcome', succeeded: 'It took effect', failed: 'It failed', answer: 'Result of the tool, as JSON (optional)',
    found: 'Error details, as JSON (optional)', notJson: 'Not valid JSON.', save: 'Resolve', cancel: 'Cancel',
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
  const t = useTexts(TEXTS);
  return (
    <Dialog title={t.title} isOpen={isOpen} onClose={rest.onClose} isDismissable={false}>
      <Form {...rest} />
    </Dialog>
  );
}

function Form({ task, onClose, onResolved }: Omit<Props, 'isOpen'>) {
  const t = useTexts(TEXTS);
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
      {resolve.error !== null && <ErrorNote>{errorText(resolve.error)}</ErrorNote>}
      <DialogFooter>
        <Button onPress={onClose}>{t.cancel}</Button>
        <Button look="primary" isPending={resolve.isPending} isDisabled={data === undefined} onPress={() => resolve.mutate()}>{t.save}</Button>
      </DialogFooter>
    </>
  );
}

/** Parses the result: empty text is no data. Returns `undefined` for invalid JSON. */
function parsed(text: string): { data?: unknown } | undefined {
  if (text.trim() === '') return {};
  try {
    return { data: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
