// The request of a call: URL, headers and body for HTTP; the arguments for other kinds.
import { CodeBlock, pretty } from '@/components/Code';
import { Badge } from '@/components/Note';
import { isRecord } from '@/components/schema-form/schema';
import { useTexts } from '@/i18n/language';

import css from './TryTab.module.css';
import { TEXTS } from './texts';

export function RequestView({ request, note }: { request: unknown; note?: string }) {
  const t = useTexts(TEXTS);
  if (!isRecord(request) || typeof request['method'] !== 'string' || typeof request['url'] !== 'string') {
    return (
      <div className={css.request}>
        <p className="quiet small">{note ?? t.wouldCall}</p>
        <CodeBlock text={pretty(request)} label={t.request} />
      </div>
    );
  }
  const headers = isRecord(request['headers']) ? Object.entries(request['headers']) : [];
  const body = request['body'];
  return (
    <div className={css.request}>
      <p className="quiet small">{note ?? t.wouldSend}</p>
      <p className={css.line}><Badge tone="accent">{request['method']}</Badge><code>{request['url']}</code></p>
      {headers.length > 0 && (
        <section className={css.part} aria-label={t.headers}>
          <h3>{t.headers}</h3>
          <dl className={css.headers}>
            {headers.map(([name, value]) => (
              <div key={name}><dt>{name}</dt><dd>{typeof value === 'string' ? value : JSON.stringify(value)}</dd></div>
            ))}
          </dl>
        </section>
      )}
      {body !== undefined && body !== null && (
        <section className={css.part} aria-label={t.body}>
          <h3>{t.body}</h3>
          <CodeBlock text={typeof body === 'string' ? body : pretty(body)} label={t.body} />
        </section>
      )}
    </div>
  );
}
