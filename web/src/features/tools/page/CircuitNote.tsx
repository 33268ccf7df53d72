// Open circuit breakers that refuse calls of this tool, with a button to close each.
import { useQuery } from '@tanstack/react-query';

import { useOpenCircuits } from '@/components/circuit/circuits';
import { OpenCircuit } from '@/components/circuit/OpenCircuit';
import { WarningNote } from '@/components/Note';
import { useWords, words } from '@/i18n/language';

import { toolStatsQuery } from './stats';
import type { Tool } from './tool';

const WORDS = words({ open: 'Open circuit breakers' }, { open: '已打开的熔断器' });

export function CircuitNote({ tool }: { tool: Tool }) {
  const t = useWords(WORDS);
  // Those of the whole space; only while there are any, the server is asked which concern this tool.
  const { data: keys = [] } = useQuery({ ...toolStatsQuery(tool.id), select: ({ openCircuits }) => openCircuits });
  const circuits = useOpenCircuits(keys, tool.id);
  if (circuits.length === 0) return null;
  return (
    <section aria-label={t.open}>
      {circuits.map((circuit) => <WarningNote key={circuit.key}><OpenCircuit circuit={circuit} /></WarningNote>)}
    </section>
  );
}
