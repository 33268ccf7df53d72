// The function definition that the model gets: from the server if the binding is saved, else computed from the draft.
import { useQuery } from '@tanstack/react-query';

import type { Schemas } from '@/api/client';
import { CodeBlock, pretty } from '@/components/Code';
import { Hint } from '@/components/Note';
import { Loading, LoadFailed } from '@/components/Page';
import { useTexts, texts } from '@/i18n/language';

import { withoutArguments } from './arguments';
import { type BindingDraft, namesOf } from './bindings';
import { effectiveToolsQuery } from './queries';

const TEXTS = texts(
  {
    label: 'Function definition', off: 'This tool is disabled for the agent, so the model does not see it. If enabled:',
    later: 'After saving:',
  },
  {
    label: '函数定义', off: '它在此智能体中已停用，模型看不到它。启用后将是：',
    later: '保存后将是：',
  },
);

export interface ModelViewProps {
  binding: BindingDraft;
  tool: Schemas['Tool'];
  savedAgentId: string | null;
}

export function ModelView({ binding, tool, savedAgentId }: ModelViewProps) {
  const t = useTexts(TEXTS);
  if (savedAgentId !== null && binding.isEnabled && tool.isActive) return <Stored toolId={binding.toolId} agentId={savedAgentId} />;
  const parameters = withoutArguments(tool.inputSchema, namesOf(binding, 'fixed'));
  return (
    <>
      <Hint>{binding.isEnabled ? t.later : t.off}</Hint>
      <CodeBlock label={t.label} text={definition(binding.name, tool.description, parameters)} />
    </>
  );
}

function Stored({ agentId, toolId }: { agentId: string; toolId: string }) {
  const t = useTexts(TEXTS);
  const tools = useQuery(effectiveToolsQuery(agentId));
  if (tools.error !== null) return <LoadFailed error={tools.error} again={() => void tools.refetch()} />;
  const row = tools.data?.find((one) => one.toolId === toolId);
  return row === undefined ? <Loading /> : <CodeBlock label={t.label} text={definition(row.name, row.description, row.parameters)} />;
}

function definition(name: string | null, description: string | null, parameters: unknown): string {
  return pretty({ type: 'function', function: { name, description, parameters } });
}
