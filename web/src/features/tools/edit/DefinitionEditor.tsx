// The JSON editor and viewer of a definition, for kinds of tools without a form.
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, type SyntheticEvent, useEffect, useState } from 'react';

import { CodeBlock, CodeEditor } from '@/components/Code';
import { ConflictDialog } from '@/components/conflict/ConflictDialog';
import { mergeChanges } from '@/components/conflict/mergeChanges';
import { LeaveGuard } from '@/components/LeaveGuard';
import { ErrorNote, Hint } from '@/components/Note';
import { Card } from '@/components/Page';
import { useTexts, texts } from '@/i18n/language';

import type { Definition } from './definition';
import css from './Editor.module.css';
import { isFields, parseJson, same, formatJson } from './json';
import { SaveError } from './SaveError';
import { SaveBar } from './SaveBar';
import type { Newer } from './ToolEditor';
import { isStale, violationsIn } from './useDraft';

const TEXTS = texts(
  {
    title: 'Definition', notJson: 'This is not a JSON object.', kind: (kind: string) => `Tools of kind “${kind}” are edited as JSON.`,
    builtIn: 'This tool is built into Haft. You can view its definition, but not change it.', noRight: 'You can view this definition. Changing it requires the editor role.',
  },
  {
    title: '定义', notJson: '还不是有效的 JSON 对象。', kind: (kind: string) => `“${kind}”类型的工具直接编辑其定义。`,
    builtIn: '此工具由 Haft 自带，定义可以查看，不能修改。', noRight: '你可以查看此定义；修改需要编辑者权限。',
  },
);

export interface DefinitionEditorProps {
  initial: Definition;
  kind: string;
  save: (definition: Definition, isOver: boolean) => Promise<unknown>;
  newer: Newer | undefined;
  reload: () => void;
  actions: ReactNode;
}

export function DefinitionEditor({ initial, kind, save, newer, reload, actions }: DefinitionEditorProps) {
  const t = useTexts(TEXTS);
  const [text, setText] = useState(() => formatJson(initial));
  const [sent, setSent] = useState<string>();
  const [lastInitial, setLastInitial] = useState(initial);
  if (lastInitial !== initial) {
    setLastInitial(initial);
    // Edits made while the request was running are kept.
    if (sent === undefined || sent === text) setText(formatJson(initial));
    setSent(undefined);
  }
  const value = parseJson(text)?.value;
  const isChanged = !same(value, initial);
  const [isComparing, setIsComparing] = useState(false);
  const merged = newer === undefined || !isFields(value) ? value : mergeChanges(initial, value, newer.definition);
  const saving = useMutation({
    mutationFn: ({ definition, isOver }: { definition: Definition; isOver: boolean }) => save(definition, isOver),
    onMutate: () => setSent(text),
    onSuccess: () => setIsComparing(false),
    onError: (error) => {
      setSent(undefined);
      setIsComparing(isStale(error) && isFields(value));
    },
  });
  const isBehind = newer !== undefined && !saving.isPending;
  // Without local changes, the editor loads a newer version at once.
  useEffect(() => {
    if (isBehind && !isChanged) reload();
  }, [isBehind, isChanged, reload]);
  /** Proceeds if the text is a JSON object. Otherwise the note below the editor shows the error. */
  const ifReadable = (definition: unknown, proceed: (definition: Definition) => void) => {
    if (isFields(definition)) proceed(definition);
    else setIsComparing(false);
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (saving.isPending) return;
    ifReadable(value, (definition) => (isBehind ? setIsComparing(true) : saving.mutate({ definition, isOver: false })));
  };
  const load = () => {
    setIsComparing(false);
    reload();
    saving.reset();
  };
  return (
    <form className={css.form} onSubmit={submit} noValidate>
      <LeaveGuard isChanged={isChanged} />
      <Hint>{t.kind(kind)}</Hint>
      <SaveError
        error={saving.error} unassigned={violationsIn(saving.error)} hasFieldErrors={false} isOutdated={isBehind && isChanged}
        reload={load} compare={() => ifReadable(value, () => setIsComparing(true))}
      />
      <ConflictDialog
        isOpen={isComparing} onClose={() => setIsComparing(false)} version={newer?.version} theirs={newer?.definition} merged={merged}
        isPending={saving.isPending} error={isStale(saving.error) ? null : saving.error} onLoad={load}
        onKeep={() => ifReadable(merged, (definition) => saving.mutate({ definition, isOver: true }))}
      />
      <Card title={t.title}>
        <div className={css.stack}>
          <CodeEditor label={t.title} value={text} onChange={setText} minHeight={320} isInvalid={!isFields(value)} />
          {!isFields(value) && <ErrorNote>{t.notJson}</ErrorNote>}
        </div>
      </Card>
      <SaveBar isNew={false} isChanged={isChanged} isPending={saving.isPending} discard={() => setText(formatJson(initial))}>{actions}</SaveBar>
    </form>
  );
}

export function DefinitionView({ definition, isBuiltIn }: { definition: Definition; isBuiltIn: boolean }) {
  const t = useTexts(TEXTS);
  return (
    <div className={css.stack}>
      <Hint>{isBuiltIn ? t.builtIn : t.noRight}</Hint>
      <CodeBlock text={formatJson(definition)} label={t.title} />
    </div>
  );
}
