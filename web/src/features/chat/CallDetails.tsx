// The details of a call: arguments and result, as tree and raw, and a link to the call log.
import { Link } from '@tanstack/react-router';
import { ArrowUpRight } from 'lucide-react';
import { useState } from 'react';

import { RefusingCircuit } from '@/components/circuit/RefusingCircuit';
import { CodeBlock, pretty } from '@/components/Code';
import { ErrorNote } from '@/components/Note';
import { Segmented } from '@/components/Segmented';
import { Value } from '@/components/Value';
import { useFormat } from '@/i18n/format';
import { texts, useTexts } from '@/i18n/language';

import css from './CallCard.module.css';
import { isLogged } from './record';
import type { Call, Result } from './wire';

const TEXTS = texts(
  {
    args: 'Arguments', result: 'Result', shown: 'Shown as', tree: 'Tree', raw: 'Raw', details: 'Details of the error', took: (time: string) => `took ${time}`,
    attempts: (count: number) => (count === 1 ? '1 attempt' : `${count} attempts`), cached: 'from cache', record: 'Open in Calls', task: 'Open task',
  },
  {
    args: '参数', result: '结果', shown: '显示方式', tree: '树形', raw: '原文', details: '错误详情', took: (time: string) => `耗时 ${time}`,
    attempts: (count: number) => `尝试 ${count} 次`, cached: '来自缓存', record: '在调用中打开', task: '打开任务',
  },
);

const NO_FILTERS = {
  tool: undefined, agent: undefined, status: undefined, kind: undefined, source: undefined, from: undefined, to: undefined, q: undefined,
};

interface Props {
  call: Pick<Call, 'callId' | 'taskId'> & Partial<Pick<Call, 'name' | 'arguments'>>;
  result: Result | undefined;
}

export function CallDetails({ call, result }: Props) {
  const t = useTexts(TEXTS);
  return (
    <div className={css.details}>
      {'arguments' in call && <section><h2>{t.args}</h2><Value value={call.arguments} label={t.args} /></section>}
      {result?.success === true && <ResultView data={result.data} />}
      {result?.success === false && (
        <section>
          <h2>{t.result}</h2>
          <ErrorNote>{result.error.message}</ErrorNote>
          <RefusingCircuit error={result.error} />
          {Object.keys(result.error.details).length > 0 && <Value value={result.error.details} label={t.details} />}
        </section>
      )}
      <footer className={css.facts}>
        {result !== undefined && <Facts result={result} />}
        <span className={css.links}>
          {call.taskId !== undefined && <Link to="/tasks" search={{ view: undefined, tool: undefined, task: call.taskId }}>{t.task}<ArrowUpRight size={13} aria-hidden /></Link>}
          {result !== undefined && isLogged(call, result) && <Link to="/calls" search={{ ...NO_FILTERS, call: call.callId }}>{t.record}<ArrowUpRight size={13} aria-hidden /></Link>}
        </span>
      </footer>
    </div>
  );
}

function ResultView({ data }: { data: unknown }) {
  const t = useTexts(TEXTS);
  const [view, setView] = useState<'tree' | 'raw'>('tree');
  const isTree = typeof data === 'object' && data !== null;
  return (
    <section>
      <div className={css.resultHead}>
        <h2>{t.result}</h2>
        {isTree && <Segmented small label={t.shown} value={view} onChange={setView} options={[{ value: 'tree', label: t.tree }, { value: 'raw', label: t.raw }]} />}
      </div>
      {isTree && view === 'raw' ? <CodeBlock label={t.result} text={pretty(data)} /> : <Value value={data} label={t.result} />}
    </section>
  );
}

function Facts({ result }: { result: Result }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  return (
    <>
      <span>{t.took(format.duration(result.executionTime))}</span>
      {result.attempts > 0 && <span>{t.attempts(result.attempts)}</span>}
      {result.cached && <span>{t.cached}</span>}
    </>
  );
}
