// The editor of an HTTP tool: the form, and beside it what it amounts to.
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type ReactNode, type SyntheticEvent, useEffect, useMemo, useRef, useState } from 'react';

import { api, ask } from '@/api/client';
import { ConflictDialog } from '@/components/conflict/ConflictDialog';
import { mergeChanges } from '@/components/conflict/mergeChanges';
import { Switch } from '@/components/Field';
import { finishField } from '@/components/finishField';
import { LeaveGuard } from '@/components/LeaveGuard';
import { useSettled } from '@/components/useSettled';
import { useLanguage, useWords, words } from '@/i18n/language';

import { AboutSection } from './AboutSection';
import { Aside } from './Aside';
import { configOf, type Definition, inputOf } from './definition';
import css from './Editor.module.css';
import { fieldsOf, type Fields, without } from './json';
import { Refusal } from './Refusal';
import { RequestSection } from './RequestSection';
import { SaveBar } from './SaveBar';
import { isStale, refusedBy, useDraft } from './useDraft';
import { placeOf, tabNamed, type TabName } from './violations';

const WORDS = words(
  { active: 'Active', preview: 'What the form amounts to' },
  { active: '启用', preview: '表单的结果' },
);

const PAUSE = 250;

/** What is stored by now, and its number. */
export interface Newer {
  version: number;
  definition: Definition;
}

export interface ToolEditorProps {
  /** Where the form begins; another one begins it anew. */
  begun: Definition;
  /** Of the tool that is changed; none for a new one. */
  id?: string;
  /** `isOver`: in place of the newer version that somebody else saved, instead of the one this was begun with. */
  save: (definition: Definition, isOver: boolean) => Promise<unknown>;
  /** The newer version that somebody else saved. */
  newer?: Newer | undefined;
  reload?: () => void;
  /** The part of the request that is open at first. */
  part?: string | undefined;
  /** Hears whether something is typed that is not saved. */
  onChanged?: (isChanged: boolean) => void;
  /** Beside the switch at the foot. */
  actions?: ReactNode;
}

export function ToolEditor({ begun, id, save, newer, reload, part, onChanged, actions }: ToolEditorProps) {
  const t = useWords(WORDS);
  const state = useDraft(begun, id);
  const { draft, definition, violations, isChanged, change } = state;
  const [tab, setTab] = useState<TabName>(() => tabNamed(part));
  const form = useRef<HTMLFormElement>(null);
  const settled = useSettled(definition, PAUSE);
  const { schema, refused, warnings } = useSchema(settled);
  const [isComparing, setIsComparing] = useState(false);
  const merged = useMemo(() => (newer === undefined ? definition : mergeChanges(begun, definition, newer.definition) as Definition), [begun, definition, newer]);
  const saving = useMutation({
    mutationFn: (isOver: boolean) => save(isOver ? merged : definition, isOver),
    onMutate: state.send,
    onSuccess: () => setIsComparing(false),
    onError: (error) => {
      const refused = refusedBy(error);
      state.beStrict(refused);
      show(refused.map(({ path }) => path));
      setIsComparing(isStale(error));
    },
  });
  /** Opens where the first thing is wrong, and goes there. */
  const show = (paths: readonly string[]) => {
    const places = paths.map((path) => placeOf(path, definition));
    const inTab = places.find((place) => place !== undefined && place !== 'form');
    if (!places.includes('form') && inTab !== undefined) setTab(inTab);
    setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), 50);
  };
  /** Does something with the draft, unless it holds half-typed JSON, which the definition leaves out. */
  const ifReadable = (proceed: () => void) => {
    if (!state.hasBrokenJson) {
      proceed();
      return;
    }
    setIsComparing(false);
    show(violations.map(({ path }) => path));
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (saving.isPending || (id !== undefined && !isChanged)) return;
    ifReadable(() => (isBehind ? setIsComparing(true) : saving.mutate(false)));
  };
  const byKeys = (event: KeyboardEvent) => {
    if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    finishField(event.target);
    // Once what the field gave is known here.
    setTimeout(() => form.current?.requestSubmit());
  };
  // One's own change may be told of before it is answered.
  const isBehind = newer !== undefined && !saving.isPending;
  useEffect(() => {
    if (isBehind && !isChanged) reload?.();
  }, [isBehind, isChanged, reload]);
  useEffect(() => onChanged?.(isChanged), [isChanged, onChanged]);
  useEffect(() => {
    // The part that an address names is below what the tool is called.
    if (part !== undefined) form.current?.querySelector('[role="tablist"]')?.scrollIntoView({ block: 'center' });
  }, [part]);
  const elsewhere = violations.filter(({ path }) => placeOf(path, definition) === undefined);
  const discard = () => {
    state.discard();
    saving.reset();
  };
  const load = reload === undefined ? undefined : () => {
    setIsComparing(false);
    reload();
    saving.reset();
  };
  return (
    <form ref={form} className={css.editor} onSubmit={submit} onKeyDown={byKeys} noValidate>
      <LeaveGuard isChanged={isChanged} />
      <div className={css.form}>
        <Refusal
          error={saving.error} elsewhere={elsewhere} hasMarked={violations.length > elsewhere.length} isOvertaken={isBehind && isChanged}
          reload={load} compare={() => ifReadable(() => setIsComparing(true))}
        />
        <AboutSection about={draft.about} violations={violations} change={change} isNew={id === undefined} />
        <RequestSection draft={draft} definition={definition} generated={schema} warnings={warnings} violations={violations} change={change} tab={tab} setTab={setTab} />
        <SaveBar isNew={id === undefined} isChanged={isChanged} isPending={saving.isPending} discard={discard}>
          <Switch label={t.active} isSelected={draft.about.isActive} onChange={(isActive) => change('about', { isActive })} />
          {actions}
        </SaveBar>
      </div>
      {load !== undefined && (
        <ConflictDialog
          isOpen={isComparing} onClose={() => setIsComparing(false)} version={newer?.version} theirs={newer?.definition} merged={merged}
          isPending={saving.isPending} error={isStale(saving.error) ? null : saving.error} onKeep={() => ifReadable(() => saving.mutate(true))} onLoad={load}
        />
      )}
      <aside className={css.aside} aria-label={t.preview}><Aside definition={settled} schema={schema} refused={refused} /></aside>
    </form>
  );
}

interface Preview {
  schema: unknown;
  refused: string | undefined;
  /** What would go wrong in calls, such as an address that this server refuses. */
  warnings: readonly string[];
}

const NO_WARNINGS: readonly string[] = [];

/** The addresses of `auth` and `poll`, without anything else of them. */
function addressesOf(config: Fields): Fields {
  const { tokenUrl } = fieldsOf(config['auth']);
  const { url } = fieldsOf(config['poll']);
  return {
    ...(tokenUrl === undefined ? {} : { auth: { tokenUrl } }),
    ...(url === undefined ? {} : { poll: { url } }),
  };
}

/** The schema that the tool would have, by what the request says; the last one while the next is asked for. */
function useSchema(definition: Definition): Preview {
  // Warnings are in the language of the request.
  const { language } = useLanguage();
  const { type, inputSchema } = definition;
  // A credential that is not filled in yet says nothing about arguments, nor does how the answer comes.
  const whole = configOf(definition);
  const config = {
    ...without(whole, 'auth', 'security', 'redact', 'responseFilter', 'imported', 'poll', 'callback'),
    ...addressesOf(whole),
  };
  const isAsked = ['url', 'baseUrl', 'endpoint'].some((name) => name in config);
  const preview = useQuery({
    queryKey: ['tools', 'schema', type, config, inputSchema, language],
    queryFn: () => ask(api.POST('/api/tools/schema-preview', { body: inputOf({ type, config, inputSchema }) })),
    enabled: isAsked,
    placeholderData: keepPreviousData,
    gcTime: 0,
  });
  const data = isAsked ? preview.data : undefined;
  return { schema: data?.inputSchema, refused: preview.error?.message, warnings: data?.warnings ?? NO_WARNINGS };
}
