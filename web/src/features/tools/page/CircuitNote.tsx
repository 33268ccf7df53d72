// Says that calls are refused because the other side failed too often, and lets one end that.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';

import { api, ask, wordsOf } from '@/api/client';
import { useMay } from '@/api/me';
import { Button } from '@/components/Button';
import { ErrorNote, WarningNote } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import { toolStatsQuery } from './stats';
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
  const isOpen = useIsOpen(tool);
  const close = useMutation({
    mutationFn: () => ask(api.POST('/api/tools/{id}/circuit/reset', { params: { path: { id: tool.id } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['stats'] }),
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

function useIsOpen(tool: Tool): boolean {
  const origin = originOf(tool);
  const { data: open = [] } = useQuery({
    ...toolStatsQuery(tool.id),
    select: ({ openCircuits }) => openCircuits,
    refetchInterval: ({ state }) => ((state.data?.openCircuits.length ?? 0) > 0 ? LOOK_AGAIN : false),
  });
  const isUncertain = origin === undefined && open.length > 0;
  const refused = useQuery({ queryKey: ['calls', 'latest', tool.id], queryFn: () => wasRefused(tool.id), enabled: isUncertain });
  return origin === undefined ? isUncertain && refused.data === true : open.includes(origin);
}

/** Whom a tool calls; undefined where the arguments say so, or something that has no address. */
function originOf({ config }: Tool): string | undefined {
  const { url, endpoint, baseUrl } = config as Partial<Record<string, unknown>>;
  const [address] = [url, endpoint, baseUrl].filter((one) => typeof one === 'string' && /^https?:\/\/[^/{]+(?:\/|\?|$)/.test(one));
  return typeof address === 'string' && URL.canParse(address) ? new URL(address).origin : undefined;
}

/** Where the address tells nothing: whether the last call did not get through. */
async function wasRefused(tool: string): Promise<boolean> {
  const from = new Date(Date.now() - RECENT).toISOString();
  const { items } = await ask(api.GET('/api/tool-calls', { params: { query: { tool, from, limit: 1 } } }));
  return items[0]?.error?.kind === 'CircuitOpen';
}
