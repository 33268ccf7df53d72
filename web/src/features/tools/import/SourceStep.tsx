// The first step: what to import, as a file, a text or an address.
import { type ReactNode, useState } from 'react';

import { wordsOf } from '@/api/client';
import { Button } from '@/components/Button';
import { CodeEditor } from '@/components/Code';
import { TextField } from '@/components/Field';
import { ErrorNote } from '@/components/Note';
import { Card } from '@/components/Page';
import { Tabs } from '@/components/Tabs';
import { useWords } from '@/i18n/language';

import { FileDrop, type FileText } from './FileDrop';
import { LeftOut } from './LeftOut';
import { isBaseMissing, messageAt, skippedIn } from './refusals';
import { type Kind, kindOf, KINDS, type Source } from './sources';
import css from './SourceStep.module.css';
import { WORDS } from './words';

interface Props {
  isPending: boolean;
  error: unknown;
  onPreview: (source: Source, baseUrl: string) => void;
  /** What went wrong before is about what was there before. */
  onChange: () => void;
}

export function SourceStep({ isPending, error, onPreview, onChange }: Props) {
  const t = useWords(WORDS);
  const [kind, setKind] = useState<Kind>('openapi');
  const [file, setFile] = useState<FileText | null>(null);
  const [text, setText] = useState('');
  const [url, setUrl] = useState('');
  const [baseUrl, setBaseUrl] = useState('');
  const [wrong, setWrong] = useState<string>();
  const touched = <V,>(set: (value: V) => void) => (value: V) => {
    set(value);
    setWrong(undefined);
    onChange();
  };
  const takeFile = touched((taken: FileText | null) => {
    setFile(taken);
    if (taken !== null) setKind(kindOf(taken.text) ?? kind);
  });
  const hasBase = kind === 'openapi' || kind === 'postman';
  const badBase = hasBase && error !== null ? (isBaseMissing(error) ? t.baseMissing : messageAt(error, 'baseUrl')) : undefined;
  const preview = () => {
    const given = file?.text ?? text;
    const byUrl = kind === 'openapi' && given.trim() === '' && url.trim() !== '';
    // What was pasted under another heading is taken for what it is.
    const meant = byUrl ? kind : (kindOf(given) ?? kind);
    const fault = faultOf(meant, given, byUrl ? url.trim() : undefined);
    if (fault !== undefined) {
      setWrong(t[fault]);
      return;
    }
    setKind(meant);
    onPreview({ kind: meant, text: byUrl ? '' : given, url: byUrl ? url.trim() : '' }, hasBase ? baseUrl.trim() : '');
  };
  const panel = (shown: Kind): ReactNode => (
    <div className={css.panel}>
      <p className="quiet">{t[`${shown}Hint`]}</p>
      {shown === 'openapi' && file === null && (
        <TextField label={t.url} description={t.urlHint} value={url} onChange={touched(setUrl)} type="url" placeholder="https://api.example.com/openapi.json" isMono />
      )}
      {(shown !== 'curl' || file !== null) && <FileDrop file={file} onFile={takeFile} />}
      {file === null && (
        <div className={css.paste}>
          <span className={css.pasteLabel}>{shown === 'curl' ? t.pasteOnly : t.paste}</span>
          <CodeEditor
            label={shown === 'curl' ? t.pasteOnly : t.paste} value={text} onChange={touched(setText)}
            language={shown === 'curl' || shown === 'openapi' ? 'text' : 'json'} placeholder={PLACEHOLDERS[shown]} isInvalid={wrong !== undefined}
          />
        </div>
      )}
    </div>
  );
  return (
    <Card>
      <div className={css.step}>
        <Tabs
          label={t.source} selected={kind} onSelect={touched(setKind)}
          tabs={KINDS.map((id) => ({ id, label: t[id], content: panel(id) }))}
        />
        {wrong !== undefined && <ErrorNote>{wrong}</ErrorNote>}
        {error !== null && badBase === undefined && <Refusal error={error} />}
        {/* A document that does not say where its API is comes to nothing before there is a preview. */}
        {hasBase && (badBase !== undefined || baseUrl !== '') && (
          <div className={css.panel}>
            <TextField
              label={t.baseUrl} description={t.baseUrlHint} value={baseUrl} onChange={setBaseUrl} placeholder="https://api.example.com" isMono
              error={badBase} autoFocus
            />
          </div>
        )}
        <div className={css.foot}>
          <Button look="primary" isPending={isPending} onPress={preview}>{isPending ? t.reading : t.preview}</Button>
        </div>
      </div>
    </Card>
  );
}

function faultOf(kind: Kind, text: string, url: string | undefined): 'notUrl' | 'nothingGiven' | 'notJson' | undefined {
  if (url !== undefined) return /^https?:\/\//i.test(url) ? undefined : 'notUrl';
  if (text.trim() === '') return 'nothingGiven';
  if (kind !== 'haft') return undefined;
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    return 'notJson';
  }
}

/** What the server says, and of which operations where nothing could be taken. */
function Refusal({ error }: { error: unknown }) {
  const skipped = skippedIn(error);
  return (
    <>
      <ErrorNote>{wordsOf(error)}</ErrorNote>
      {skipped.length > 0 && <LeftOut skipped={skipped} />}
    </>
  );
}

const PLACEHOLDERS: Record<Kind, string> = {
  openapi: 'openapi: 3.1.0\npaths:\n  /users/{id}: …',
  curl: "curl 'https://api.example.com/users/42' \\\n  -H 'Authorization: Bearer …'",
  postman: '{ "info": { "schema": "…" }, "item": [ … ] }',
  har: '{ "log": { "entries": [ … ] } }',
  haft: '{ "tools": [ … ], "agents": [ … ], "providers": [ … ], "alerts": [ … ] }',
};
