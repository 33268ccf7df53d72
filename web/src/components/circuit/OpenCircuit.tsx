// One open circuit breaker: why it refuses calls, the failed calls that opened it, and a button that closes it.
import { Link } from '@tanstack/react-router';

import { texts, useTexts } from '@/i18n/language';

import css from './Circuit.module.css';
import type { Circuit } from './circuits';
import { CloseCircuit } from './CloseCircuit';

const TEXTS = texts(
  { failed: (tool: string) => `Failed calls of ${tool}` },
  { failed: (tool) => `${tool} 的失败调用` },
);

const NO_FILTERS = { agent: undefined, source: undefined, to: undefined, q: undefined, call: undefined };

export function OpenCircuit({ circuit: { key, message, failingTools, lastError } }: { circuit: Circuit }) {
  const t = useTexts(TEXTS);
  return (
    <div className={css.circuit}>
      {/* The message that a refused caller receives. */}
      <span className={css.message}>{message}</span>
      <CloseCircuit circuit={key} isOpen />
      <span className={css.calls}>
        {failingTools.map((tool) => (
          <Link key={tool} to="/calls" search={{ ...NO_FILTERS, tool, status: 'failed', kind: lastError ?? undefined, from: '1h' }}>{t.failed(tool)}</Link>
        ))}
      </span>
    </div>
  );
}
