// The outcome of a call, or its progress while it runs.
import { Hammer } from 'lucide-react';

import { type Schemas, errorText } from '@/api/client';
import { Badge, Empty, ErrorNote, Hint } from '@/components/Note';
import { Card } from '@/components/Page';
import { useFormat } from '@/i18n/format';
import { useTexts } from '@/i18n/language';

import { ResultView } from './ResultView';
import { Facts } from './Facts';
import { Failure } from './Failure';
import { RequestView } from './RequestView';
import { Running } from './Running';
import { SentRequest } from './SentRequest';
import css from './TryTab.module.css';
import type { Outcome, Run } from './useRun';
import { TEXTS } from './texts';

export function OutcomeCard({ tool, run }: { tool: Schemas['Tool']; run: Run }) {
  const t = useTexts(TEXTS);
  const { outcome, isRunning } = run;
  return (
    <Card title={t.outcome} actions={!isRunning && outcome !== undefined ? <State outcome={outcome} /> : undefined}>
      <Announcement run={run} />
      {isRunning && !run.isPreviewing ? <Running startedAt={run.startedAt} waitingFor={run.waitingFor} cancel={run.cancel} /> : <Body tool={tool} run={run} />}
    </Card>
  );
}

function Body({ tool, run }: { tool: Schemas['Tool']; run: Run }) {
  const t = useTexts(TEXTS);
  const { outcome, error } = run;
  if (error !== null) return <ErrorNote>{errorText(error)}</ErrorNote>;
  if (outcome === undefined) return <Empty icon={<Hammer />} title={t.waiting}>{t.waitingText}</Empty>;
  if (outcome.state === 'cancelled') return <Hint>{t.cancelledText}</Hint>;
  if (outcome.state === 'success' && outcome.isPreview) return <RequestView request={outcome.result.data} />;
  return (
    // The key resets the view for each call.
    <div key={outcome.result.callId} className={css.result}>
      {!outcome.isPreview && <Facts result={outcome.result} />}
      {outcome.state === 'success' ? <ResultView value={outcome.result.data} /> : <Failure result={outcome.result} violations={outcome.violations} />}
      {tool.type === 'http' && !outcome.isPreview && outcome.result.attempts > 0 && <SentRequest tool={tool.id} sent={outcome.sent} callId={outcome.result.callId} />}
    </div>
  );
}

function State({ outcome }: { outcome: Outcome }) {
  const t = useTexts(TEXTS);
  if (outcome.state === 'cancelled') return <Badge tone="warn">{t.cancelled}</Badge>;
  if (outcome.state === 'failed') return <Badge tone="bad">{t.failed}</Badge>;
  return outcome.isPreview ? <Badge tone="accent">{t.previewed}</Badge> : <Badge tone="good">{t.succeeded}</Badge>;
}

/** Announces the outcome to screen readers. */
function Announcement({ run: { outcome, isRunning } }: { run: Run }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const announcement = () => {
    if (isRunning) return t.running;
    if (outcome === undefined) return '';
    if (outcome.state === 'cancelled') return t.cancelled;
    if (outcome.isPreview && outcome.state === 'success') return t.previewed;
    return t.announced(outcome.state === 'success' ? t.succeeded : t.failed, format.duration(outcome.result.executionTime));
  };
  return <span className="hidden" role="status">{announcement()}</span>;
}
