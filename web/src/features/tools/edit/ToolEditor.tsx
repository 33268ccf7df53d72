// The editor of an HTTP tool: the form, and beside it what it amounts to.
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type ReactNode, type SyntheticEvent, useEffect, useRef, useState } from 'react';

import { api, ask } from '@/api/client';
import { Switch } from '@/components/Field';
import { finishField } from '@/components/finishField';
import { LeaveGuard } from '@/components/LeaveGuard';
import { useSettled } from '@/components/useSettled';
import { useWords, words } from '@/i18n/language';

import { AboutSection } from './AboutSection';
import { Aside } from './Aside';
import { configOf, type Definition, inputOf } from './definition';
import css from './Editor.module.css';
import { without } from './json';
import { Refusal } from './Refusal';
import { RequestSection } from './RequestSection';
import { SaveBar } from './SaveBar';
import { refusedBy, useDraft } from './useDraft';
import { placeOf, type TabName } from './violations';

const WORDS = words(
  { active: 'Active', preview: 'What the form amounts to' },
  { active: '启用', preview: '表单的结果' },
);

const PAUSE = 250;

export interface ToolEditorProps {
  /** Where the form begins; another one begins it anew. */
  begun: Definition;
  /** Of the tool that is changed; none for a new one. */
  id?: string;
  save: (definition: Definition) => Promise<unknown>;
  /** Somebody saved a newer version. */
  isOvertaken?: boolean;
  reload?: () => void;
  /** Hears whether something is typed that is not saved. */
  onChanged?: (isChanged: boolean) => void;
  /** Beside the switch at the foot. */
  actions?: ReactNode;
}

export function ToolEditor({ begun, id, save, isOvertaken = false, reload, onChanged, actions }: ToolEditorProps) {
  const t = useWords(WORDS);
  const state = useDraft(begun, id);
  const { draft, definition, violations, isChanged, change } = state;
  const [tab, setTab] = useState<TabName>('params');
  const form = useRef<HTMLFormElement>(null);
  const settled = useSettled(definition, PAUSE);
  const { schema, refused } = useSchema(settled);
  const saving = useMutation({
    mutationFn: () => save(definition),
    onMutate: state.send,
    onError: (error) => {
      const refused = refusedBy(error);
      state.beStrict(refused);
      show(refused.map(({ path }) => path));
    },
  });
  /** Opens where the first thing is wrong, and goes there. */
  const show = (paths: readonly string[]) => {
    const places = paths.map((path) => placeOf(path, definition));
    const inTab = places.find((place) => place !== undefined && place !== 'form');
    if (!places.includes('form') && inTab !== undefined) setTab(inTab);
    setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), 50);
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (saving.isPending || (id !== undefined && !isChanged)) return;
    if (state.hasBrokenJson) show(violations.map(({ path }) => path));
    else saving.mutate();
  };
  const byKeys = (event: KeyboardEvent) => {
    if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    finishField(event.target);
    // Once what the field gave is known here.
    setTimeout(() => form.current?.requestSubmit());
  };
  const isBehind = isOvertaken && !saving.isPending;
  useEffect(() => {
    if (isBehind && !isChanged) reload?.();
  }, [isBehind, isChanged, reload]);
  useEffect(() => onChanged?.(isChanged), [isChanged, onChanged]);
  const elsewhere = violations.filter(({ path }) => placeOf(path, definition) === undefined);
  const discard = () => {
    state.discard();
    saving.reset();
  };
  return (
    <form ref={form} className={css.editor} onSubmit={submit} onKeyDown={byKeys} noValidate>
      <LeaveGuard isChanged={isChanged} />
      <div className={css.form}>
        <Refusal
          error={saving.error} elsewhere={elsewhere} hasMarked={violations.length > elsewhere.length} isOvertaken={isBehind && isChanged}
          reload={reload === undefined ? undefined : () => { reload(); saving.reset(); }}
        />
        <AboutSection about={draft.about} violations={violations} change={change} isNew={id === undefined} />
        <RequestSection draft={draft} definition={definition} generated={schema} violations={violations} change={change} tab={tab} setTab={setTab} />
        <SaveBar isNew={id === undefined} isChanged={isChanged} isPending={saving.isPending} discard={discard}>
          <Switch label={t.active} isSelected={draft.about.isActive} onChange={(isActive) => change('about', { isActive })} />
          {actions}
        </SaveBar>
      </div>
      <aside className={css.aside} aria-label={t.preview}><Aside definition={settled} schema={schema} refused={refused} /></aside>
    </form>
  );
}

/** The schema that the tool would have, by what the request says; the last one while the next is asked for. */
function useSchema(definition: Definition): { schema: unknown; refused: string | undefined } {
  const { type, inputSchema } = definition;
  // A credential that is not filled in yet says nothing about arguments, nor does how the answer comes.
  const config = without(configOf(definition), 'auth', 'security', 'redact', 'responseFilter', 'imported', 'poll', 'callback');
  const isAsked = ['url', 'baseUrl', 'endpoint'].some((name) => name in config);
  const preview = useQuery({
    queryKey: ['tools', 'schema', type, config, inputSchema],
    queryFn: () => ask(api.POST('/api/tools/schema-preview', { body: inputOf({ type, config, inputSchema }) })),
    enabled: isAsked,
    placeholderData: keepPreviousData,
    gcTime: 0,
  });
  return { schema: isAsked ? preview.data?.inputSchema : undefined, refused: preview.error?.message };
}
