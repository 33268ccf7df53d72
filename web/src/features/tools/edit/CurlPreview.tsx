// The preview of a pasted cURL command: request, variables and schema of each tool.
import type { Schemas } from '@/api/client';
import { CodeBlock, pretty } from '@/components/Code';
import { Fold } from '@/components/Fold';
import { Badge, Hint, WarningNote } from '@/components/Note';
import { useTexts, texts } from '@/i18n/language';

import { type Argument, argumentsOf, type ImportedTool, requestOf } from './curl';
import css from './CurlPreview.module.css';

const TEXTS = texts(
  {
    preview: 'Preview', request: (name: string) => `Request of ${name}`, variables: 'Variables', noVariables: 'No variables: every call sends the same request.',
    found: (count: number) => (count === 1 ? '1 tool found' : `${count} tools found`), required: 'required', preset: (value: string) => `default ${value}`,
    headers: 'Headers in the command', body: 'In the body', schema: 'Schema', schemaOf: (name: string) => `Schema of ${name}`,
    definition: 'Definition', definitionOf: (name: string) => `Definition of ${name}`, example: 'Request with example arguments', exampleOf: (name: string) => `Request of ${name} with example arguments`,
    secrets: (names: string) => `Credentials in the command are encrypted as secrets when you create the tool: ${names}.`,
    skipped: (what: string, why: string) => `${what}: ${why}`,
  },
  {
    preview: '将成为的工具', request: (name: string) => `${name} 的请求`, variables: '变量', noVariables: '没有变量：每次调用发送的内容相同。',
    found: (count: number) => `识别到 ${count} 个工具`, required: '必填', preset: (value: string) => `默认 ${value}`,
    headers: '命令中的请求头', body: '放入请求体', schema: '参数结构', schemaOf: (name: string) => `${name} 的参数结构`,
    definition: '定义', definitionOf: (name: string) => `${name} 的定义`, example: '使用示例参数的请求', exampleOf: (name: string) => `${name} 使用示例参数的请求`,
    secrets: (names: string) => `其中的凭证会在创建工具时加密保存为密钥：${names}。`,
    skipped: (what: string, why: string) => `${what}：${why}`,
  },
);

export function CurlPreview({ report, command }: { report: Schemas['ImportReport']; command: string }) {
  const t = useTexts(TEXTS);
  const { tools, secrets, notes, skipped } = report;
  return (
    <section className={css.preview} aria-label={t.preview}>
      <span className="hidden" role="status">{t.found(tools.length)}</span>
      {tools.map((tool) => <Tool key={tool.name} tool={tool} command={command} isAlone={tools.length === 1 && skipped.length === 0} />)}
      {secrets.length > 0 && <Hint>{t.secrets(secrets.join(', '))}</Hint>}
      {notes.map((note) => <Hint key={note}>{note}</Hint>)}
      {skipped.map(({ operation, reason }) => <WarningNote key={operation}>{t.skipped(operation, reason)}</WarningNote>)}
    </section>
  );
}

function Tool({ tool, command, isAlone }: { tool: ImportedTool; command: string; isAlone: boolean }) {
  const t = useTexts(TEXTS);
  const { method, url, headers, body } = requestOf(tool, command, isAlone);
  const variables = argumentsOf(tool.inputSchema);
  return (
    <div className={css.tool}>
      <div role="group" aria-label={t.request(tool.name)} className={css.request}>
        <div className="mono"><b>{method}</b> <Address text={url} /></div>
        <Names label={t.headers} names={headers} />
        <Names label={t.body} names={body} />
      </div>
      {variables.length === 0 ? <p className="quiet small">{t.noVariables}</p> : (
        <div className={css.variables}>
          <span className="quiet small" aria-hidden>{t.variables}</span>
          <ul className={css.list} aria-label={t.variables}>{variables.map((one) => <Variable key={one.name} of={one} />)}</ul>
        </div>
      )}
      <Fold title={t.schema}><CodeBlock text={pretty(tool.inputSchema)} label={t.schemaOf(tool.name)} /></Fold>
      {tool.definition !== undefined && <Fold title={t.definition}><CodeBlock text={pretty(tool.definition)} label={t.definitionOf(tool.name)} /></Fold>}
      {tool.request !== undefined && <Fold title={t.example}><CodeBlock text={tool.request} label={t.exampleOf(tool.name)} /></Fold>}
    </div>
  );
}

/** Renders a URL with highlighted arguments. */
function Address({ text }: { text: string }) {
  return text.split(/(\{\w+\})/).map((part, at) => (part.startsWith('{') ? <span key={at} className={css.name}>{part}</span> : part));
}

function Names({ label, names }: { label: string; names: readonly string[] }) {
  if (names.length === 0) return null;
  return <div className={css.names}><span className="quiet small">{label}</span>{names.map((name) => <code key={name}>{name}</code>)}</div>;
}

function Variable({ of: { name, type, isRequired, description, preset } }: { of: Argument }) {
  const t = useTexts(TEXTS);
  return (
    <li className={css.variable}>
      <code className={css.name}>{name}</code>
      <span className="quiet small mono">{type}</span>
      {isRequired && <Badge tone="accent">{t.required}</Badge>}
      {preset !== undefined && <span className="quiet small">{t.preset(preset)}</span>}
      {description !== '' && <span className={`${css.description} small`}>{description}</span>}
    </li>
  );
}
