// Facts of a call: duration, attempts, cache, converted arguments, and a link to its record.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ArrowUpRight, Clock, Database, Repeat } from 'lucide-react';

import { api, ask } from '@/api/client';
import { Badge, WarningNote } from '@/components/Note';
import { useFormat } from '@/i18n/format';
import { useTexts } from '@/i18n/language';

import css from './TryTab.module.css';
import type { Failed, Success } from './useRun';
import { TEXTS } from './texts';

/** Retries, because the record is written shortly after the response. */
const TRIES = 4;

export function Facts({ result }: { result: Success | Failed }) {
  const t = useTexts(TEXTS);
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
