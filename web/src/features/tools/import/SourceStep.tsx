// The first step of an import: a file, a text or a URL.
import { type ReactNode, useState } from 'react';

import { errorText } from '@/api/client';
import { Button } from '@/components/Button';
import { CodeEditor } from '@/components/Code';
import { TextField } from '@/components/Field';
import { ErrorNote } from '@/components/Note';
import { Card } from '@/components/Page';
import { Tabs } from '@/components/Tabs';
import { useTexts } from '@/i18n/language';

import { FileDrop, type FileText } from './FileDrop';
import { SkippedOperations } from './SkippedOperations';
import { isBaseMissing, messageAt, skippedIn } from './importErrors';
import { type Kind, kindOf, KINDS, type Source } from './sources';
import css from './SourceStep.module.css';
import { TEXTS } from './texts';

interface Props {
  isPending: boolean;
  error: unknown;
  onPreview: (source: Source, baseUrl: string) => void;
  /** Called when the input changes, so that the error of the previous input can be cleared. */
  onChange: () => void;
}

export function SourceStep({ isPending, error, onPreview, onChange }: Props) {
  const t = useTexts(TEXTS);
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
  const selectFile = touched((selected: FileText | null) => {
    setFile(selected);
    if (selected !== null) setKind(kindOf(selected.text) ?? kind);
  });
  const hasBase = kind === 'openapi' || kind === 'postman';
  const badBase = hasBase && error !== null ? (isBaseMissing(error) ? t.baseMissing : messageAt(error, 'baseUrl')) : undefined;
  const preview = () => {
    const given = file?.text ?? text;
    const byUrl = kind === 'openapi' && given.trim() === '' && url.trim() !== '';
    // Text in the wrong tab is recognized by its content.
    const actualKind = byUrl ? kind : (kindOf(given) ?? kind);
    const fault = inputError(actualKind, given, byUrl ? url.trim() : undefined);
    if (fault !== undefined) {
      setWrong(t[fault]);
      return;
    }
    setKind(actualKind);
    onPreview({ kind: actualKind, text: byUrl ? '' : given, url: byUrl ? url.trim() : '' }, hasBase ? baseUrl.trim() : '');
  };
  const panel = (panelKind: Kind): ReactNode => (
    <div className={css.panel}>
      <p className="quiet">{t[`${panelKind}Hint`]}</p>
      {panelKind === 'openapi' && file === null && (
        <TextField label={t.url} description={t.urlHint} value={url} onChange={touched(setUrl)} type="url" placeholder="https://api.example.com/openapi.json" isMono />
      )}
      {(panelKind !== 'curl' || file !== null) && <FileDrop file={file} onFile={selectFile} />}
      {file === null && (
        <div className={css.paste}>
          <span className={css.pasteLabel}>{panelKind === 'curl' ? t.pasteOnly : t.paste}</span>
          <CodeEditor
            label={panelKind === 'curl' ? t.pasteOnly : t.paste} value={text} onChange={touched(setText)}
            language={panelKind === 'curl' || panelKind === 'openapi' ? 'text' : 'json'} placeholder={PLACEHOLDERS[panelKind]} isInvalid={wrong !== undefined}
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
        {error !== null && badBase === undefined && <ImportError error={error} />}
        {/* Without the address of the API, there is no preview in which it could be set. */}
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

function inputError(kind: Kind, text: string, url: string | undefined): 'notUrl' | 'nothingGiven' | 'notJson' | undefined {
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

/** The server's error, with the skipped operations if all were skipped. */
function ImportError({ error }: { error: unknown }) {
  const skipped = skippedIn(error);
  return (
    <>
      <ErrorNote>{errorText(error)}</ErrorNote>
      {skipped.length > 0 && <SkippedOperations skipped={skipped} />}
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
