// Open circuit breakers that reject calls of this tool, each with a button to close it.
import { useQuery } from '@tanstack/react-query';

import { useOpenCircuits } from '@/components/circuit/circuits';
import { OpenCircuit } from '@/components/circuit/OpenCircuit';
import { WarningNote } from '@/components/Note';
import { useTexts, texts } from '@/i18n/language';

import { toolStatsQuery } from './stats';
import type { Tool } from './tool';

const TEXTS = texts({ open: 'Open circuit breakers' }, { open: '已打开的熔断器' });

export function CircuitNote({ tool }: { tool: Tool }) {
  const t = useTexts(TEXTS);
  // The keys are those of the whole space. Only if there are any, the server is asked which affect this tool.
  const { data: keys = [] } = useQuery({ ...toolStatsQuery(tool.id), select: ({ openCircuits }) => openCircuits });
  const circuits = useOpenCircuits(keys, tool.id);
  if (circuits.length === 0) return null;
  return (
    <section aria-label={t.open}>
      {circuits.map((circuit) => <WarningNote key={circuit.key}><OpenCircuit circuit={circuit} /></WarningNote>)}
    </section>
  );
}
