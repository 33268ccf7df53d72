// On or off: whether agents see a tool and calls of it are answered.
import { useMutation, useQueryClient } from '@tanstack/react-query';

import { api, askTagged, wordsOf } from '@/api/client';
import { useMay } from '@/api/me';
import { Switch } from '@/components/Field';
import { ErrorNote } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import { isProvided, type Tool, toolQuery } from './tool';
import css from './ToolHead.module.css';

const WORDS = words({ on: 'Active', off: 'Off' }, { on: '已启用', off: '已停用' });

export function ActiveSwitch({ tool, tag, id }: { tool: Tool; tag: string | null; id: string }) {
  const t = useWords(WORDS);
  const may = useMay('editor');
  const queries = useQueryClient();
  const turn = useMutation({
    mutationFn: (isActive: boolean) =>
      askTagged(api.PATCH('/api/tools/{id}', {
        params: { path: { id: tool.id }, header: tag === null ? {} : { 'If-Match': tag } },
        body: { isActive },
      })),
    onSuccess: (answer) => queries.setQueryData(toolQuery(id).queryKey, answer),
    onError: () => void queries.invalidateQueries({ queryKey: toolQuery(id).queryKey }),
  });
  const isActive = turn.isPending ? turn.variables : tool.isActive;
  return (
    <div className={css.active}>
      <Switch
        label={isActive ? t.on : t.off} isSelected={isActive}
        isDisabled={!may || isProvided(tool) || turn.isPending} onChange={(next) => turn.mutate(next)}
      />
      {turn.error !== null && <ErrorNote>{wordsOf(turn.error)}</ErrorNote>}
    </div>
  );
}
