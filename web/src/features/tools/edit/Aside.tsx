// The preview beside the form: variables, the request, and the schema of the arguments.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleAlert, CircleCheck, KeyRound } from 'lucide-react';
import { Fragment, memo } from 'react';

import { CodeBlock, pretty } from '@/components/Code';
import { Card } from '@/components/Page';
import { useTexts, texts } from '@/i18n/language';

import css from './Aside.module.css';
import type { Definition } from './definition';
import { piecesOf, previewOf } from './preview';
import { secretsQuery } from './secrets';
import { secretsOf, variablesOf } from './variables';
import { LOCATIONS } from './texts';

const TEXTS = texts(
  {
    variables: 'Variables', none: 'Write {{name}} in the URL, a parameter, a header or the body to add an argument.', given: 'set by Haft',
    saved: 'Saved', missing: 'Missing', add: 'Add it', request: 'Request preview', noUrl: 'Enter a URL to see it.', schema: 'Schema', schemaLabel: 'Schema of the arguments',
    requestLabel: 'The request to be sent', secretOf: (name: string) => `Secret ${name}`,
  },
  {
    variables: '变量', none: '在 URL、参数、请求头或请求体中写 {{name}}，它就成为一个参数。', given: '由调用给出',
    saved: '已保存', missing: '缺少', add: '去添加', request: '将要发送的请求', noUrl: '填写 URL 后显示。', schema: '参数结构', schemaLabel: '参数的结构',
    requestLabel: '将要发送的请求', secretOf: (name: string) => `密钥 ${name}`,
  },
);

export interface AsideProps {
  definition: Definition;
  schema: unknown;
  /** The error if there is no schema. */
  refused: string | undefined;
}

export const Aside = memo(function Aside({ definition, schema, refused }: AsideProps) {
  const t = useTexts(TEXTS);
  return (
    <>
      <Card title={t.variables}><Names definition={definition} /></Card>
      <Card title={t.request}><Request definition={definition} schema={schema} /></Card>
      <Card title={t.schema}>{schema === undefined ? <p className="quiet small">{refused ?? t.noUrl}</p> : <CodeBlock text={pretty(schema)} label={t.schemaLabel} />}</Card>
    </>
  );
});

function Names({ definition }: { definition: Definition }) {
  const t = useTexts(TEXTS);
  const locations = useTexts(LOCATIONS);
  const variables = variablesOf(definition);
  const secrets = secretsOf(definition);
  const saved = useQuery({ ...secretsQuery, enabled: secrets.length > 0 });
  if (variables.length + secrets.length === 0) return <p className="quiet small">{t.none}</p>;
  return (
    <ul className={css.names}>
      {variables.map((variable) => (
        <li key={variable.name} className={css.entry}>
          <code className={css.variable}>{variable.name}</code>
          <span className={css.where}>{variable.isCallVariable ? t.given : variable.locations.map((location) => locations[location]).join(', ')}</span>
        </li>
      ))}
      {secrets.map(({ name, isOwn }) => {
        const isSaved = saved.data?.some((secret) => secret.name === name && (secret.owner === 'me') === isOwn);
        return (
          <li key={`${name} ${isOwn}`} className={css.entry}>
            <code className={css.secret} aria-label={t.secretOf(name)}><KeyRound size={12} aria-hidden /> {isOwn ? `me/${name}` : name}</code>
            {isSaved === true && <span className={css.good}><CircleCheck size={13} aria-hidden /> {t.saved}</span>}
            {isSaved === false && (
              <span className={css.warn}>
                <CircleAlert size={13} aria-hidden /> {t.missing} · <Link to="/settings" search={{ tab: 'secrets' }} target="_blank">{t.add}</Link>
              </span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function Request({ definition, schema }: Omit<AsideProps, 'refused'>) {
  const t = useTexts(TEXTS);
  const { method, url, headers, body } = previewOf(definition, schema);
  if (url === '') return <p className="quiet small">{t.noUrl}</p>;
  return (
    <pre className={css.request} tabIndex={0} role="region" aria-label={t.requestLabel}>
      <b>{method}</b> <HighlightedText text={url} />
      {headers.map(([name, value], index) => <Fragment key={index}>{'\n'}<span className={css.header}>{name}:</span> <HighlightedText text={value} /></Fragment>)}
      {body !== undefined && <>{'\n\n'}<HighlightedText text={body} /></>}
    </pre>
  );
}

function HighlightedText({ text }: { text: string }) {
  return piecesOf(text).map((piece, index) => (piece.kind === 'text' ? piece.text : <span key={index} className={css[piece.kind]}>{piece.text}</span>));
}
