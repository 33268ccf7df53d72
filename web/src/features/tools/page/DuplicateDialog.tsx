// Creates a copy of a tool under a new name and opens its definition.
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type SyntheticEvent, useState } from 'react';

import { api, ApiError, ask, type Schemas, errorText } from '@/api/client';
import { Button } from '@/components/Button';
import { Dialog, DialogFooter } from '@/components/Dialog';
import { TextField } from '@/components/Field';
import { ErrorNote } from '@/components/Note';
import { useTexts, texts } from '@/i18n/language';

import { definitionOf } from './definition';
import type { Tool } from './tool';
import css from './ToolHead.module.css';

const TEXTS = texts(
  {
    title: 'Duplicate tool', name: 'Name of the copy', hint: 'Letters, digits, _ and -; at most 64.',
    make: 'Duplicate', cancel: 'Cancel',
  },
  { title: '创建副本', name: '副本名称', hint: '字母、数字、_ 和 -，最多 64 个字符。', make: '创建副本', cancel: '取消' },
);

const MAX_NAME = 64;
const SUFFIX = '_copy';

export function DuplicateDialog({ tool, onClose }: { tool: Tool; onClose: () => void }) {
  const t = useTexts(TEXTS);
  const navigate = useNavigate();
  const [name, setName] = useState(tool.name.slice(0, MAX_NAME - SUFFIX.length) + SUFFIX);
  const make = useMutation({
    mutationFn: () => ask(api.POST('/api/tools', { body: copyOf(tool, name) })),
    onSuccess: (created) => void navigate({ to: '/tools/$id', params: { id: created.id }, search: { tab: 'definition' } }),
  });
  const wrong = make.error instanceof ApiError ? nameError(make.error) : undefined;
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
        {make.error !== null && wrong === undefined && <ErrorNote>{errorText(make.error)}</ErrorNote>}
        <DialogFooter>
          <Button onPress={onClose}>{t.cancel}</Button>
          <Button type="submit" look="primary" isPending={make.isPending}>{t.make}</Button>
        </DialogFooter>
      </form>
    </Dialog>
  );
}

/** Returns the error of the name: a conflict if it is used, a violation if it is invalid. */
function nameError(error: ApiError): string | undefined {
  return error.status === 409 ? error.message : error.violations.find(({ path }) => path === 'name')?.message;
}

/** Copies a definition without `imported`, so that re-importing the original does not change the copy. */
function copyOf(tool: Tool, name: string): Schemas['ToolInput'] {
  const config = { ...tool.config };
  delete config['imported'];
  return { ...definitionOf(tool), config, name };
}
