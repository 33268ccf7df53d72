// The switch that enables or disables a tool.
import { useMutation, useQueryClient } from '@tanstack/react-query';

import { api, askTagged, errorText } from '@/api/client';
import { useMay } from '@/api/me';
import { Switch } from '@/components/Field';
import { ErrorNote } from '@/components/Note';
import { useTexts, texts } from '@/i18n/language';

import { isBuiltIn, type Tool, toolQuery } from './tool';
import css from './ToolHead.module.css';

const TEXTS = texts({ on: 'Active', off: 'Off' }, { on: '已启用', off: '已停用' });

export function ActiveSwitch({ tool, tag, id }: { tool: Tool; tag: string | null; id: string }) {
  const t = useTexts(TEXTS);
  const may = useMay('editor');
  const queries = useQueryClient();
  const toggle = useMutation({
    mutationFn: (isActive: boolean) =>
      askTagged(api.PATCH('/api/tools/{id}', {
        params: { path: { id: tool.id }, header: tag === null ? {} : { 'If-Match': tag } },
        body: { isActive },
      })),
    onSuccess: (response) => queries.setQueryData(toolQuery(id).queryKey, response),
    onError: () => void queries.invalidateQueries({ queryKey: toolQuery(id).queryKey }),
  });
  const isActive = toggle.isPending ? toggle.variables : tool.isActive;
  return (
    <div className={css.active}>
      <Switch
        label={isActive ? t.on : t.off} isSelected={isActive}
        isDisabled={!may || isBuiltIn(tool) || toggle.isPending} onChange={(next) => toggle.mutate(next)}
      />
      {toggle.error !== null && <ErrorNote>{errorText(toggle.error)}</ErrorNote>}
    </div>
  );
}
