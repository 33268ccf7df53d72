// The Definition tab of an existing tool: a form for HTTP tools, JSON for other kinds.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';

import { api, askTagged, type Schemas } from '@/api/client';
import { useMay } from '@/api/me';
import { LoadFailed } from '@/components/Page';

import { type Definition, definitionOf, inputOf } from './definition';
import { DefinitionEditor, DefinitionView } from './DefinitionEditor';
import { DeleteButton } from './DeleteButton';
import css from './Editor.module.css';
import { ToolEditor } from './ToolEditor';
import { isStale } from './useDraft';

export interface EditTabProps {
  tool: Schemas['Tool'];
  /** The `ETag` of the tool, sent as `If-Match`. */
  tag: string | null;
  /** The tab of the request section that is open initially. */
  part?: string | undefined;
}

export function EditTab({ tool, tag, part }: EditTabProps) {
  const mayEdit = useMay('editor');
  const isBuiltIn = tool.spaceId === null;
  if (isBuiltIn || !mayEdit) return <DefinitionView definition={definitionOf(tool)} isBuiltIn={isBuiltIn} />;
  return <Editing key={tool.id} tool={tool} tag={tag} part={part} />;
}

/** Keeps the version that was opened until it is saved or discarded, even if a newer one arrives. */
function Editing({ tool, tag, part }: EditTabProps) {
  const queries = useQueryClient();
  const [base, setBase] = useState({ tool, tag });
  const { id } = base.tool;
  const initial = useMemo(() => definitionOf(base.tool), [base.tool]);
  const save = async (definition: Definition, isOver: boolean) => {
    const expected = isOver ? tag : base.tag;
    const header = expected === null ? {} : { 'If-Match': expected };
    const saving = askTagged(api.PUT('/api/tools/{id}', { params: { path: { id }, header }, body: inputOf(definition) }));
    const saved = await saving.catch(async (error: unknown) => {
      // Fetch the newer version for the comparison, even if no event has announced it.
      if (isStale(error)) await queries.invalidateQueries({ queryKey: ['tools', 'page'] });
      throw error;
    });
    setBase({ tool: saved.data, tag: saved.tag });
    void queries.invalidateQueries({ queryKey: ['tools'] });
    void queries.invalidateQueries({ queryKey: ['secrets'] });
  };
  const loading = useMutation({
    mutationFn: () => askTagged(api.GET('/api/tools/{id}', { params: { path: { id } } })),
    onSuccess: (now) => setBase({ tool: now.data, tag: now.tag }),
  });
  const reload = loading.mutate;
  const isOutdated = tool.version > base.tool.version;
  const newer = useMemo(() => (isOutdated ? { version: tool.version, definition: definitionOf(tool) } : undefined), [isOutdated, tool]);
  const shared = { initial, save, reload, newer, actions: <DeleteButton tool={base.tool} /> };
  return (
    <div className={css.stack}>
      {loading.error !== null && <LoadFailed error={loading.error} again={reload} />}
      {tool.type === 'http' ? <ToolEditor id={id} part={part} {...shared} /> : <DefinitionEditor kind={tool.type} {...shared} />}
    </div>
  );
}
