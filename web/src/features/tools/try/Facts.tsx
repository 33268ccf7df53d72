// What is known of a call: how long, how often, what was made to fit, and where its record is.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ArrowUpRight, Clock, Database, Repeat } from 'lucide-react';

import { api, ask } from '@/api/client';
import { Badge, WarningNote } from '@/components/Note';
import { useFormat } from '@/i18n/format';
import { useWords } from '@/i18n/language';

import css from './TryTab.module.css';
import type { Failed, Success } from './useRun';
import { WORDS } from './words';

/** The record is written a moment after the answer. */
const TRIES = 4;

export function Facts({ result }: { result: Success | Failed }) {
  const t = useWords(WORDS);
  const format = useFormat();
  const { callId } = result;
  const record = useQuery({
    queryKey: ['calls', 'tried', callId],
    queryFn: () => ask(api.GET('/api/tool-calls/{id}', { params: { path: { id: callId } } })),
    retry: TRIES, retryDelay: 400, staleTime: Infinity,
  });
  const { coerced = [], warnings = [] } = record.data ?? {};
  const search = {
    tool: undefined, agent: undefined, status: undefined, kind: undefined, source: undefined, from: undefined, to: undefined, q: undefined, call: callId,
  };
  return (
    <>
      <div className={css.facts}>
        <span><Clock aria-hidden size={14} />{format.duration(record.data?.duration ?? result.executionTime)}</span>
        {result.attempts > 0 && <span><Repeat aria-hidden size={14} />{t.attempts(result.attempts)}</span>}
        {result.cached && <Badge tone="accent"><Database aria-hidden size={12} />{t.cached}</Badge>}
        <Link to="/calls" search={search} className={css.record}>{t.record}<ArrowUpRight aria-hidden size={14} /></Link>
      </div>
      {coerced.length > 0 && (
        <div className={css.coerced} title={t.coercedText}>
          <span>{t.coerced}</span>{coerced.map((path) => <code key={path}>{path}</code>)}
          <span className="hidden">{t.coercedText}</span>
        </div>
      )}
      {warnings.length > 0 && (
        <WarningNote>
          {t.warnings}
          <ul>{warnings.map((one) => <li key={`${one.path} ${one.message}`}><code>{one.path}</code> {one.message}</li>)}</ul>
        </WarningNote>
      )}
    </>
  );
}
