// A tool as the model is shown it: from the server where it is stored so, else as it will be once saved.
import { useQuery } from '@tanstack/react-query';

import type { Schemas } from '@/api/client';
import { CodeBlock, pretty } from '@/components/Code';
import { Hint } from '@/components/Note';
import { Loading, LoadFailed } from '@/components/Page';
import { useWords, words } from '@/i18n/language';

import { withoutArguments } from './arguments';
import { type Bound, namesOf } from './bindings';
import { shownQuery } from './queries';

const WORDS = words(
  {
    label: 'Function definition', off: 'It is switched off for this agent, so the model does not see it. Switched on, it would be:',
    later: 'As it will be once saved:',
  },
  {
    label: '函数定义', off: '它在此智能体中已停用，模型看不到它。启用后将是：',
    later: '保存后将是：',
  },
);

export interface ModelViewProps {
  bound: Bound;
  tool: Schemas['Tool'];
  shownBy: string | null;
}

export function ModelView({ bound, tool, shownBy }: ModelViewProps) {
  const t = useWords(WORDS);
  if (shownBy !== null && bound.isEnabled && tool.isActive) return <Stored toolId={bound.toolId} agentId={shownBy} />;
  const parameters = withoutArguments(tool.inputSchema, namesOf(bound, 'fixed'));
  return (
    <>
      <Hint>{bound.isEnabled ? t.later : t.off}</Hint>
      <CodeBlock label={t.label} text={definition(bound.name, tool.description, parameters)} />
    </>
  );
}

function Stored({ agentId, toolId }: { agentId: string; toolId: string }) {
  const t = useWords(WORDS);
  const shown = useQuery(shownQuery(agentId));
  if (shown.error !== null) return <LoadFailed error={shown.error} again={() => void shown.refetch()} />;
  const row = shown.data?.find((one) => one.toolId === toolId);
  return row === undefined ? <Loading /> : <CodeBlock label={t.label} text={definition(row.name, row.description, row.parameters)} />;
}

function definition(name: string | null, description: string | null, parameters: unknown): string {
  return pretty({ type: 'function', function: { name, description, parameters } });
}
