// A tool of a kind without a form of its own: its definition as JSON, to edit or only to read.
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, type SyntheticEvent, useEffect, useState } from 'react';

import { CodeBlock, CodeEditor } from '@/components/Code';
import { ConflictDialog } from '@/components/conflict/ConflictDialog';
import { mergeChanges } from '@/components/conflict/mergeChanges';
import { LeaveGuard } from '@/components/LeaveGuard';
import { ErrorNote, Hint } from '@/components/Note';
import { Card } from '@/components/Page';
import { useWords, words } from '@/i18n/language';

import type { Definition } from './definition';
import css from './Editor.module.css';
import { isFields, parsed, same, spelled } from './json';
import { Refusal } from './Refusal';
import { SaveBar } from './SaveBar';
import type { Newer } from './ToolEditor';
import { isStale, refusedBy } from './useDraft';

const WORDS = words(
  {
    title: 'Definition', notJson: 'This is not a JSON object yet.', kind: (kind: string) => `A tool of the kind “${kind}” is edited as its definition.`,
    builtIn: 'This tool comes with Haft. Its definition can be read here, and cannot be changed.', noRight: 'You may read this definition. Changing it needs the role editor.',
  },
  {
    title: '定义', notJson: '还不是有效的 JSON 对象。', kind: (kind: string) => `“${kind}”类型的工具直接编辑其定义。`,
    builtIn: '此工具由 Haft 自带，定义可以查看，不能修改。', noRight: '你可以查看此定义；修改需要编辑者权限。',
  },
);

export interface DefinitionEditorProps {
  begun: Definition;
  kind: string;
  save: (definition: Definition, isOver: boolean) => Promise<unknown>;
  newer: Newer | undefined;
  reload: () => void;
  actions: ReactNode;
}

export function DefinitionEditor({ begun, kind, save, newer, reload, actions }: DefinitionEditorProps) {
  const t = useWords(WORDS);
  const [text, setText] = useState(() => spelled(begun));
  const [sent, setSent] = useState<string>();
  const [known, setKnown] = useState(begun);
  if (known !== begun) {
    setKnown(begun);
    // What was typed while it was on its way stays.
    if (sent === undefined || sent === text) setText(spelled(begun));
    setSent(undefined);
  }
  const value = parsed(text)?.value;
  const isChanged = !same(value, begun);
  const [isComparing, setIsComparing] = useState(false);
  const merged = newer === undefined || !isFields(value) ? value : mergeChanges(begun, value, newer.definition);
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
  // Who has changed nothing sees at once what somebody else changed.
  useEffect(() => {
    if (isBehind && !isChanged) reload();
  }, [isBehind, isChanged, reload]);
  /** Does something with a definition, unless the text is no JSON object, which the note below the text says. */
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
      <Refusal
        error={saving.error} elsewhere={refusedBy(saving.error)} hasMarked={false} isOvertaken={isBehind && isChanged}
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
      <SaveBar isNew={false} isChanged={isChanged} isPending={saving.isPending} discard={() => setText(spelled(begun))}>{actions}</SaveBar>
    </form>
  );
}

export function DefinitionView({ definition, isBuiltIn }: { definition: Definition; isBuiltIn: boolean }) {
  const t = useWords(WORDS);
  return (
    <div className={css.stack}>
      <Hint>{isBuiltIn ? t.builtIn : t.noRight}</Hint>
      <CodeBlock text={spelled(definition)} label={t.title} />
    </div>
  );
}
