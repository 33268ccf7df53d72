// The Request section: method and URL, and tabs for the other settings.
import { memo } from 'react';

import type { Violation } from '@/api/client';
import { Select, TextField } from '@/components/Field';
import { Hint, WarningNote } from '@/components/Note';
import { Card } from '@/components/Page';
import { Tabs } from '@/components/Tabs';
import { useTexts, texts } from '@/i18n/language';

import { ResponseTab } from './ResponseTab';
import { ArgumentsTab } from './ArgumentsTab';
import { AuthTab } from './AuthTab';
import { BodyTab } from './BodyTab';
import type { Definition } from './definition';
import type { Draft } from './draft';
import css from './Editor.module.css';
import { KeyValues } from './KeyValues';
import { LimitsTab } from './LimitsTab';
import { METHODS } from './request';
import { SafetyTab } from './SafetyTab';
import type { Change } from './useDraft';
import { messageAt, tabOf, type TabName } from './violations';
import { TABS } from './texts';

const TEXTS = texts(
  {
    request: 'Request', method: 'Method', url: 'URL', base: 'Base URL', baseHint: 'If the URL below is empty, the model chooses path, method and body.',
    urlHint: 'Write {{name}} for values from the model. Write secret://name for secrets, in headers, auth, params or body.',
    paramsHint: 'Appended to the query of the URL.', headersHint: 'Host, Content-Length and connection headers are set by Haft.',
    params: 'Query parameters', headers: 'Headers',
  },
  {
    request: '请求', method: '方法', url: 'URL', base: '基础 URL', baseHint: '下面没有 URL 时，由模型自己给出路径、方法和请求体。',
    urlHint: '需要模型给值的地方写 {{name}}。密钥写作 secret://name，可用于请求头、认证、查询参数和请求体。',
    paramsHint: '附在 URL 已有的查询参数之后。', headersHint: 'Host、Content-Length 和连接类请求头由 Haft 设置。',
    params: '查询参数', headers: '请求头',
  },
);

export interface RequestSectionProps {
  draft: Draft;
  definition: Definition;
  generated: unknown;
  /** Problems that calls would have, from the server. */
  warnings: readonly string[];
  violations: readonly Violation[];
  change: Change;
  tab: TabName;
  setTab: (tab: TabName) => void;
}

export const RequestSection = memo(function RequestSection(props: RequestSectionProps) {
  const { draft, definition, generated, warnings, violations, change, tab, setTab } = props;
  const t = useTexts(TEXTS);
  const names = useTexts(TABS);
  const { request } = draft;
  const methods = METHODS.some((one) => one === request.method) ? METHODS : [...METHODS, request.method];
  const wrong = new Set(violations.map(({ path }) => tabOf(path, definition)));
  const shared = { violations, change };
  const contents: [TabName, number, React.ReactNode][] = [
    ['params', request.query.length, (
      <div key="params" className={css.stack}>
        <KeyValues label={t.params} rows={request.query} onChange={(query) => change('request', { query })} path="config.query" violations={asQuery(violations)} />
        <Hint>{t.paramsHint}</Hint>
      </div>
    )],
    ['headers', draft.headers.rows.length, (
      <div key="headers" className={css.stack}>
        <KeyValues label={t.headers} rows={draft.headers.rows} onChange={(rows) => change('headers', { rows })} path="config.headers" violations={violations} namePlaceholder="X-Api-Key" valuePlaceholder="secret://name" />
        <Hint>{t.headersHint}</Hint>
      </div>
    )],
    ['body', 0, <BodyTab key="body" request={request} {...shared} />],
    ['auth', 0, <AuthTab key="auth" auth={draft.auth} {...shared} />],
    ['safety', 0, <SafetyTab key="safety" limits={draft.limits} {...shared} />],
    ['arguments', 0, <ArgumentsTab key="arguments" schema={draft.schema} generated={generated} {...shared} />],
    ['answer', 0, <ResponseTab key="answer" response={draft.response} deferred={draft.deferred} definition={definition} {...shared} />],
    ['limits', 0, <LimitsTab key="limits" limits={draft.limits} {...shared} />],
  ];
  return (
    <Card title={t.request}>
      <div className={css.stack}>
        {request.baseUrl !== '' && (
          <TextField label={t.base} isMono description={t.baseHint} value={request.baseUrl} onChange={(baseUrl) => change('request', { baseUrl })} error={messageAt(violations, 'config.baseUrl')} />
        )}
        <div className={css.line}>
          <Select label={t.method} value={request.method} options={methods.map((value) => ({ value, label: value }))} onChange={(method) => change('request', { method })} error={messageAt(violations, 'config.method')} />
          <TextField
            label={t.url} isMono isRequired={request.baseUrl === ''} value={request.url} onChange={(url) => change('request', { url })} placeholder="https://api.example.com/items/{{id}}"
            description={t.urlHint} error={messageAt(violations, 'config.url') ?? messageAt(violations, 'config.endpoint')}
          />
        </div>
        <div role="status" className={css.status}>
          {warnings.map((warning) => <WarningNote key={warning}>{warning}</WarningNote>)}
        </div>
        <Tabs
          label={names.label} selected={tab} onSelect={setTab}
          tabs={contents.map(([id, count, content]) => ({ id, label: names[id], content, mark: <Mark count={count} wrong={wrong.has(id) ? names.wrong : undefined} /> }))}
        />
      </div>
    </Card>
  );
});

/** Maps violations of `config.params` to the query table. */
function asQuery(violations: readonly Violation[]): Violation[] {
  return violations.map(({ path, message }) => ({ path: path.replace(/^config\.params/, 'config.query'), message }));
}

function Mark({ count, wrong }: { count: number; wrong: string | undefined }) {
  if (wrong !== undefined) return <span className={css.wrong} role="img" aria-label={wrong} />;
  return count === 0 ? null : <span className={css.count}>{count}</span>;
}
