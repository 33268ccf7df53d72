// Says that calls are refused because the other side failed too often, and lets one end that.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';

import { api, ask, wordsOf } from '@/api/client';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { ErrorNote, WarningNote } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import type { Tool } from './tool';
import css from './ToolHead.module.css';

const WORDS = words(
  {
    open: 'The circuit is open: the other side failed too often, so calls are refused for now. One is let through by itself after a while.',
    close: 'Close it now',
  },
  { open: '熔断已打开：对方失败次数过多，调用暂时被拒绝；过一段时间会自动放行一次尝试。', close: '立即关闭' },
);

/** A refusal that is older says nothing about now. */
const RECENT = 5 * 60_000;
const LOOK_AGAIN = 15_000;

export function CircuitNote({ tool }: { tool: Tool }) {
  const t = useWords(WORDS);
  const may = useMay('editor');
  const queries = useQueryClient();
  const queryKey = ['calls', 'latest', tool.id];
  const { data: isOpen = false } = useQuery({
    queryKey,
    queryFn: () => wasRefused(tool.id),
    refetchInterval: ({ state }) => (state.data === true ? LOOK_AGAIN : false),
  });
  const close = useMutation({
    mutationFn: () => ask(api.POST('/api/tools/{id}/circuit/reset', { params: { path: { id: tool.id } } })),
    // The refusal stays on record, so the record is not asked again.
    onSuccess: () => queries.setQueryData(queryKey, false),
  });
  if (!isOpen) return null;
  return (
    <div role="status">
      <WarningNote>
        <div className={css.circuit}>
          <span>{t.open}</span>
          {may && <Button small isPending={close.isPending} onPress={() => close.mutate()}>{t.close}</Button>}
        </div>
      </WarningNote>
      {close.error !== null && <ErrorNote>{wordsOf(close.error)}</ErrorNote>}
    </div>
  );
}

/** Whether the last call did not get through: the server does not tell of circuits themselves. */
async function wasRefused(tool: string): Promise<boolean> {
  const from = new Date(Date.now() - RECENT).toISOString();
  const { items } = await ask(api.GET('/api/tool-calls', { params: { query: { tool, from, limit: 1 } } }));
  return items[0]?.error?.kind === 'CircuitOpen';
}
