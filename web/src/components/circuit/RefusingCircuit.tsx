// Beside the error of a call that a circuit breaker refused: closes that circuit breaker while it is still open.
import type { ErrorKind } from '@/api/client';

import { type Circuit, useOpenCircuits } from './circuits';
import { CloseCircuit } from './CloseCircuit';

interface Props {
  error: { kind: ErrorKind; details: Record<string, unknown> };
}

export function RefusingCircuit({ error: { kind, details } }: Props) {
  const { circuit: key, toolId, upstream } = details;
  return kind === 'CircuitOpen' && typeof key === 'string' ? <CloseIfOpen circuit={key} toolId={toolId} upstream={upstream} /> : null;
}

interface RefusedBy {
  circuit: string;
  toolId: unknown;
  upstream: unknown;
}

/**
 * Offers to close the breaker if it is open. The key of a tool's own breaker contains the tool's name, which
 * may have changed.
 */
function CloseIfOpen({ circuit, toolId, upstream }: RefusedBy) {
  const all = useOpenCircuits([circuit]);
  const isSame = (one: Circuit) => one.key === circuit || (typeof toolId === 'string' && one.toolId === toolId && one.upstream === upstream);
  const open = all.find(isSame);
  return <CloseCircuit circuit={open?.key ?? circuit} isOpen={open !== undefined} />;
}
