// Makes another tool with the same definition under a name of its own, and goes there to change it.
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type SyntheticEvent, useState } from 'react';

import { api, ApiError, ask, type Schemas, wordsOf } from '@/api/client';
import { Button } from '@/components/Button';
import { Dialog, DialogFooter } from '@/components/Dialog';
import { TextField } from '@/components/Field';
import { ErrorNote } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import { definitionOf } from './definition';
import type { Tool } from './tool';
import css from './ToolHead.module.css';

const WORDS = words(
  {
    title: 'Duplicate tool', name: 'Name of the copy', hint: 'Letters, digits, _ and -; at most 64.',
    make: 'Duplicate', cancel: 'Cancel',
  },
  { title: '创建副本', name: '副本名称', hint: '字母、数字、_ 和 -，最多 64 个字符。', make: '创建副本', cancel: '取消' },
);

const LONGEST = 64;
const MARK = '_copy';

export function DuplicateDialog({ tool, onClose }: { tool: Tool; onClose: () => void }) {
  const t = useWords(WORDS);
  const navigate = useNavigate();
  const [name, setName] = useState(tool.name.slice(0, LONGEST - MARK.length) + MARK);
  const make = useMutation({
    mutationFn: () => ask(api.POST('/api/tools', { body: copyOf(tool, name) })),
    onSuccess: (made) => void navigate({ to: '/tools/$id', params: { id: made.id }, search: { tab: 'definition' } }),
  });
  const wrong = make.error instanceof ApiError ? nameFault(make.error) : undefined;
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    make.mutate();
  };
  return (
    <Dialog title={t.title} isOpen onClose={onClose}>
      <form onSubmit={submit} className={css.form}>
        <TextField
          label={t.name} description={t.hint} value={name} onChange={setName} error={wrong} isMono isRequired autoFocus
        />
        {make.error !== null && wrong === undefined && <ErrorNote>{wordsOf(make.error)}</ErrorNote>}
        <DialogFooter>
          <Button onPress={onClose}>{t.cancel}</Button>
          <Button type="submit" look="primary" isPending={make.isPending}>{t.make}</Button>
        </DialogFooter>
      </form>
    </Dialog>
  );
}

/** A name that is taken is a conflict, one that is none a violation. */
function nameFault(error: ApiError): string | undefined {
  return error.status === 409 ? error.message : error.violations.find(({ path }) => path === 'name')?.message;
}

/** A copy was made by hand: what the first was imported from shall not change it too. */
function copyOf(tool: Tool, name: string): Schemas['ToolInput'] {
  const config = { ...tool.config };
  delete config['imported'];
  return { ...definitionOf(tool), config, name };
}
