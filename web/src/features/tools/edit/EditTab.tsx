// A tool that is there, to be changed: in the form for HTTP, as its definition for other kinds.
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

export interface EditTabProps {
  tool: Schemas['Tool'];
  /** The version that `If-Match` names. */
  tag: string | null;
}

export function EditTab({ tool, tag }: EditTabProps) {
  const mayEdit = useMay('editor');
  const isBuiltIn = tool.spaceId === null;
  if (isBuiltIn || !mayEdit) return <DefinitionView definition={definitionOf(tool)} isBuiltIn={isBuiltIn} />;
  return <Editing key={tool.id} tool={tool} tag={tag} />;
}

/** The form stays with the version it was opened with, whatever comes in meanwhile, until that is saved or let go. */
function Editing({ tool, tag }: EditTabProps) {
  const queries = useQueryClient();
  const [base, setBase] = useState({ tool, tag });
  const { id } = base.tool;
  const begun = useMemo(() => definitionOf(base.tool), [base.tool]);
  const save = async (definition: Definition) => {
    const header = base.tag === null ? {} : { 'If-Match': base.tag };
    const saved = await askTagged(api.PUT('/api/tools/{id}', { params: { path: { id }, header }, body: inputOf(definition) }));
    setBase({ tool: saved.data, tag: saved.tag });
    void queries.invalidateQueries({ queryKey: ['tools'] });
    void queries.invalidateQueries({ queryKey: ['secrets'] });
  };
  const loading = useMutation({
    mutationFn: () => askTagged(api.GET('/api/tools/{id}', { params: { path: { id } } })),
    onSuccess: (now) => setBase({ tool: now.data, tag: now.tag }),
  });
  const reload = loading.mutate;
  const shared = { begun, save, reload, isOvertaken: tool.version > base.tool.version, actions: <DeleteButton tool={base.tool} /> };
  return (
    <div className={css.stack}>
      {loading.error !== null && <LoadFailed error={loading.error} again={reload} />}
      {tool.type === 'http' ? <ToolEditor id={id} {...shared} /> : <DefinitionEditor kind={tool.type} {...shared} />}
    </div>
  );
}
